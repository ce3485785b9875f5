/*-------------------------------------------------------------------------
 *
 * lacking.h
 *		Characters that the encoding of the database lacks.
 *
 *		from: finish_item.c, results.c, notify.c
 *
 * A message may hold any character, and LATIN1 has few.  The server then refuses
 * the call and names one character.  So the caller replaces it and calls again, a
 * few times at most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LACKING_H
#define TWT_LACKING_H

#include "libpq-fe.h"

/*
 * Puts a question mark for the character that the server refused.  ncalls counts
 * the calls for one text, from 0; the last of them replaces all characters that are
 * not ASCII.  Returns false if the text (NULL: none) is not at fault, or was not by
 * then.
 */
extern bool lacking_replace(char *text, const PGresult *refusal, int *ncalls) MUSTCHECK;

#endif							/* TWT_LACKING_H */
