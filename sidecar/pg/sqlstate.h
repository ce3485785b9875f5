/*-------------------------------------------------------------------------
 *
 * sqlstate.h
 *		The reason of a failure, as its SQLSTATE tells it.
 *
 *		from: grab.c, finish_item.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQLSTATE_H
#define TWT_SQLSTATE_H

/* Whether the failure recurs whenever the server reads the same content. */
extern bool sqlstate_is_of_content(const char *sqlstate);

#endif							/* TWT_SQLSTATE_H */
