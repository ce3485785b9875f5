/*-------------------------------------------------------------------------
 *
 * places.h
 *		Where in users' functions an error was raised.
 *
 *		from: src/execute, src/finish, sidecar/execute/sql
 *
 * The context of an error has a line for each function and each statement under way,
 * the innermost first.  We keep three lines at most, and only those that name a
 * place in a function: the text of a statement may hold data.  Lines behind the first
 * function of ours name no place of users.  A message of RAISE was written for its
 * reader, so no place is written.
 *
 * Plain C without PostgreSQL's headers: both sides compile it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PLACES_H
#define TWT_PLACES_H

#define PLACES_BYTES 1024

/*
 * Writes text to follow the message, such as ", in PL/pgSQL function app.fee(integer)
 * line 3 at assignment"; "": no place is known.  context NULL: none.
 */
extern void places_name(const char *context, char places[PLACES_BYTES]);

#endif							/* TWT_PLACES_H */
