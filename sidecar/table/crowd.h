/*-------------------------------------------------------------------------
 *
 * crowd.h
 *		How much of a table each type, and each family of types, takes up.
 *
 * Private to table.c.  A family is the types that share the part of their
 * names before the first |, such as all keys of EXECUTE_PAYOUT|*.  When a
 * table is full, the biggest family makes room, and within it the biggest
 * type.  So neither many tasks of one type nor many types of one family keep
 * others out.  Among types of equal size the less urgent gives way to the more
 * urgent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CROWD_H
#define TWT_CROWD_H

#include "table/column.h"

typedef struct Crowd Crowd;

extern Crowd *crowd_new(void);

/* All columns have left already. */
extern void crowd_free(Crowd *crowd);

/* An empty column comes; an empty one leaves. */
extern void crowd_join(Crowd *crowd, Column *column);
extern void crowd_leave(Crowd *crowd, Column *column);

/*
 * The number of entries that wait in the column has changed by that amount, or
 * their priorities have.
 */
extern void crowd_count(Crowd *crowd, Column *column, int change);

/*
 * The column that has to make room for one more entry of that column and
 * priority: another column that is still no smaller afterwards, or a column
 * that gives up a less urgent entry, which may be that column itself.  NULL:
 * no column.
 */
extern Column *crowd_makes_room(const Crowd *crowd, Column *column, int priority);

#endif							/* TWT_CROWD_H */
