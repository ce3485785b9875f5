/*-------------------------------------------------------------------------
 *
 * refusal.h
 *		Why the database does not let this node execute tasks.
 *
 *		from: node.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_REFUSAL_H
#define TWT_REFUSAL_H

/* Replaces the reason, which is freed; NULL: there is none.  Logs a new one. */
extern void refusal_set(char **refusal, char *reason);

#endif							/* TWT_REFUSAL_H */
