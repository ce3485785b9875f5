/*-------------------------------------------------------------------------
 *
 * crowd.h
 *		Counts how much of a table each type and each family of types uses.
 *
 * Private to table.c.  A family is the types that share the part of their
 * names before the first |, such as all keys of EXECUTE_PAYOUT|*.  When a
 * table is full, the biggest family makes room, and within it the biggest
 * type.  So neither many tasks of one type nor many types of one family keep
 * other types out.  If two types have the same size, the less urgent one gives
 * way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CROWD_H
#define TWT_CROWD_H

#include "table/column.h"

typedef struct Crowd Crowd;

extern Crowd *crowd_new(void);

/* All columns must have left. */
extern void crowd_free(Crowd *crowd);

/* Add and remove a column, which must be empty. */
extern void crowd_join(Crowd *crowd, Column *column);
extern void crowd_leave(Crowd *crowd, Column *column);

/*
 * The number of waiting entries of the column has changed by change, or their
 * priorities have changed (0).
 */
extern void crowd_count(Crowd *crowd, Column *column, int change);

/*
 * The column that has to give up an entry for a new entry of column with that
 * priority.  It is a column that is still no smaller afterwards, or one that
 * gives up a less urgent entry, which may be column itself.  NULL: there is
 * none.
 */
extern Column *crowd_makes_room(const Crowd *crowd, Column *column, int priority);

#endif							/* TWT_CROWD_H */
