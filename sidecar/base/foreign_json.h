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

/* The most names that can be asked for, with the NULL at their end. */
#define FOREIGN_JSON_NAMES 8

typedef struct ForeignJsonFault
{
	int			byte;			/* where it is no JSON */
	const char *repeated;		/* a name that is there again; NULL: none */
} ForeignJsonFault;

/*
 * text[len] must be NUL.  A number beyond what int64 or double can hold, at
 * whatever depth, becomes a string of its digits; all other numbers are exact.
 * The last of several members with one name counts; repeated is the first of the
 * names, ended by a NULL, that more than one member of the object has.  No
 * names: nobody asks.  Returns NULL if it is no JSON.
 *
 * The text is read once, unless it has such numbers or members, and a fixed
 * number of times then.
 */
extern json_t *foreign_json_load(const char *text, size_t len,
								 const char *const *names,
								 ForeignJsonFault *fault) MUSTCHECK;

/* The message about a repeated member. */
#define FOREIGN_JSON_REPEATED "member \"%s\" is there twice"

#endif							/* TWT_FOREIGN_JSON_H */
