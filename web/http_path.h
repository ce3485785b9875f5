/*-------------------------------------------------------------------------
 *
 * http_path.h
 *		The path of a request, as the client sent it, and the pattern of a route.
 *
 * A part is decoded after the path is split, so a part may hold a slash (%2F).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_PATH_H
#define TWT_HTTP_PATH_H

#define HTTP_PARTS_MAX 4

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

/*
 * Whether an encoded path matches the pattern, in which a part "*" matches any
 * part but an empty one.  Replaces *parts by the decoded parts at the stars.
 */
extern bool http_path_match(const char *pattern, const char *path, HttpParts *parts);

extern void http_parts_free(HttpParts *parts);

#endif							/* TWT_HTTP_PATH_H */
