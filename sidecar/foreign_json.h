/*-------------------------------------------------------------------------
 *
 * foreign_json.h
 *		JSON that others wrote, with what is no business of ours in it.
 *
 *		from: worker_protocol.c, http_reply.c, trace.c, http_headers.c
 *		to: jansson
 *
 * Valid JSON may have numbers that jansson has no place for, and members that
 * are there twice.  As long as they are not ours they must not matter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FOREIGN_JSON_H
#define TWT_FOREIGN_JSON_H

#include <jansson.h>

/*
 * text[len] must be NUL.  A number beyond what int64 or double can hold, at
 * whatever depth, becomes a string of its digits; all other numbers are exact.
 * Of members with one name the last one counts.  NULL: it is no JSON, and the
 * byte where that was found.
 */
extern json_t *foreign_json_load(const char *text, size_t len, int *byte) MUSTCHECK;

/*
 * The first of the names, ended by a NULL, that more than one member of the
 * object has; NULL: none.  Of a text that foreign_json_load() has read.
 */
extern const char *foreign_json_repeated(const char *text, size_t len,
										 const char *const *names);

/* What is to be said about it. */
#define FOREIGN_JSON_REPEATED "member \"%s\" is there twice"

#endif							/* TWT_FOREIGN_JSON_H */
