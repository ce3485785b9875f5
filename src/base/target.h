/*-------------------------------------------------------------------------
 *
 * target.h
 *		A table that is written to without a statement of SQL.
 *
 *		from: rows.c, append.c
 *
 * The caller changes the heap; a target writes the indexes and fires the
 * triggers.  Our own tables have no triggers, but pg_repack copies a table by
 * a trigger, and audits and foreign keys are triggers too.
 *
 * A target fires AFTER triggers FOR EACH ROW, when it is closed.  We refuse
 * everything else that a statement would obey: other triggers, rules, check
 * constraints, row security that binds the owner.
 *
 * Targets are closed in the reverse order of their opening.
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
 * The caller keeps the relation locked and open.
 *
 * Errors: 0A000 when the relation has something that we would pass over.
 */
extern Target *target_open(Relation relation);

/* Fires the due triggers, which may raise any error. */
extern void target_close(Target *target);

/*
 * Raises the errors of target_open(), for a table that is written through its
 * parts.
 */
extern void target_check(Relation relation);

/*
 * Adds index entries for a new row, which has its place in it, and its
 * triggers.
 */
extern void target_inserted(Target *target, TupleTableSlot *row);

/*
 * Notes that the row at that place was updated or deleted.
 * table_tuple_update() says which indexes want an entry of the new row.
 */
extern void target_updated(Target *target, ItemPointer at, TupleTableSlot *row,
						   bool indexes, bool only_summarizing);
extern void target_deleted(Target *target, ItemPointer at);

#endif							/* TWT_TARGET_H */
