/*-------------------------------------------------------------------------
 *
 * crowd.h
 *		Who takes up how much of a table: types, and families of types.
 *
 * Private to table.c.  A family are the types that share the part of their
 * names before the first |, such as all keys of EXECUTE_PAYOUT|*.  When a
 * table is full, whoever takes up the most makes room: the biggest family,
 * and of its types the biggest one.  So neither many tasks of one type nor
 * many types of one family keep others out.  Among those that take up the same
 * the less urgent gives way to the more urgent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CROWD_H
#define TWT_CROWD_H

#include "table/column.h"

typedef struct Crowd Crowd;

extern Crowd *crowd_new(void);

/* All columns have left. */
extern void crowd_free(Crowd *crowd);

/* An empty column comes; an empty one leaves. */
extern void crowd_join(Crowd *crowd, Column *column);
extern void crowd_leave(Crowd *crowd, Column *column);

/*
 * The number of entries that wait in the column has changed by that, or the
 * priorities that they have.
 */
extern void crowd_count(Crowd *crowd, Column *column, int change);

/*
 * Who has to make room for one more entry of that column and priority: another
 * one, which even then does not take up less; or one that gives up something
 * less urgent, which may be that column itself.  NULL: nobody.
 */
extern Column *crowd_makes_room(const Crowd *crowd, Column *column, int priority);

#endif							/* TWT_CROWD_H */
