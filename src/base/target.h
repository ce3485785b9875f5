/*-------------------------------------------------------------------------
 *
 * target.h
 *		A table that is written to without a statement of SQL.
 *
 *		from: rows.c, append.c
 *
 * The caller changes the heap; a target writes the indexes and fires the
 * triggers.  Ours have none, but pg_repack copies a table by a trigger, audits
 * are made by triggers, and so are foreign keys.
 *
 * Fired are AFTER triggers FOR EACH ROW, when the target is closed.  What else
 * a statement would obey, and we do not, is refused: other triggers, rules,
 * check constraints, row security that binds the owner.
 *
 * Targets are closed in the reverse order in which they were opened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TARGET_H
#define TWT_TARGET_H

#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

typedef struct Target Target;

/*
 * The relation stays the caller's, locked and open.
 *
 * Errors: 0A000 when it has what we would pass over.
 */
extern Target *target_open(Relation relation);

/* Fires what is due: any error may come. */
extern void target_close(Target *target);

/* Raises what target_open() does: for one that is written through its parts. */
extern void target_check(Relation relation);

/* A new row, with its place in it: entries of all indexes, triggers. */
extern void target_inserted(Target *target, TupleTableSlot *row);

/*
 * A row at that place was updated or deleted.  Which indexes want an entry of
 * the new row is as table_tuple_update() says.
 */
extern void target_updated(Target *target, ItemPointer at, TupleTableSlot *row,
						   bool indexes, bool only_summarizing);
extern void target_deleted(Target *target, ItemPointer at);

#endif							/* TWT_TARGET_H */
