/*-------------------------------------------------------------------------
 *
 * foreign_json.h
 *		JSON of foreign programs, with content that does not concern us.
 *
 *		from: worker_protocol.c, http_reply.c, trace.c, http_headers.c, results.c
 *		to: jansson
 *
 * Valid JSON may hold numbers that jansson cannot represent, and repeated
 * members.  They do not matter unless the caller uses them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FOREIGN_JSON_H
#define TWT_FOREIGN_JSON_H

#include <jansson.h>

/* Maximum number of names, with the NULL at their end. */
#define FOREIGN_JSON_NAMES 12

typedef struct ForeignJsonFault
{
	bool		is_deep;		/* the text nests deeper than jansson reads */
	int			byte;			/* byte at which the text is not JSON */
	const char *repeated;		/* a name that is repeated; NULL: none */
} ForeignJsonFault;

/*
 * text[len] must be NUL.  A number that neither int64 nor double can hold
 * becomes a string of its digits, at any depth; all other numbers are exact.
 * With names, half of a surrogate pair and a byte that is not UTF-8 become U+FFFD.
 * When several members have one name, the last one counts.  names ends in NULL;
 * repeated is the first of the names that the object has more than once.
 * Without names nothing is counted.  Returns NULL if the text is not JSON.
 *
 * The text is read once; with large numbers, bad characters or repeated
 * members, a fixed number of times.
 */
extern json_t *foreign_json_load(const char *text, size_t len,
								 const char *const *names,
								 ForeignJsonFault *fault) MUSTCHECK;

/* The text after its byte order mark, if it has one. */
extern const char *foreign_json_start(const char *text);

/* The message about a repeated member. */
#define FOREIGN_JSON_REPEATED "member \"%s\" is there twice"

#endif							/* TWT_FOREIGN_JSON_H */
