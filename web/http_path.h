/*-------------------------------------------------------------------------
 *
 * http_path.h
 *		The path and query of a request, as the client sent them, and the pattern of a
 *		route.
 *
 * A part is decoded after the path is split, so a part may hold a slash (%2F).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_PATH_H
#define TWT_HTTP_PATH_H

#define HTTP_PARTS_MAX 8

typedef struct HttpParts
{
	char	   *parts[HTTP_PARTS_MAX];
	int			n;
} HttpParts;

/*
 * Whether each % begins the hexadecimal code of a byte, and none stands for a
 * NUL, which would cut the part off.
 */
extern bool http_path_is_encoded(const char *path);

/* The bytes that an encoded text stands for, palloc'd. */
extern char *http_decode(const char *text, size_t len);

/*
 * Whether an encoded path matches the pattern, in which a part "*" matches any
 * part but an empty one.  Replaces *parts by the decoded parts at the stars.
 */
extern bool http_path_match(const char *pattern, const char *path, HttpParts *parts);

extern void http_parts_free(HttpParts *parts);

/* ---- the query ---- */

typedef struct HttpPair
{
	char	   *name;
	char	   *value;
} HttpPair;

typedef struct HttpQuery
{
	HttpPair   *pairs;
	int			n;
	bool		is_bad;			/* a % encodes no character, or NUL */
} HttpQuery;

/* Adds a pair, which it decodes; a value of NULL is empty. */
extern void http_query_add(HttpQuery *query, const char *name, const char *value);

/* The first value of the name, or NULL. */
extern const char *http_query_find(const HttpQuery *query, const char *name);

extern void http_query_free(HttpQuery *query);

#endif							/* TWT_HTTP_PATH_H */
