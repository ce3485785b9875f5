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
 * A target fires AFTER triggers FOR EACH ROW, when it is closed.  It fills
 * foreign columns: see fill.h.  It asks for a replica identity where a
 * publication needs one.  We refuse everything else that a statement would
 * obey: other triggers, rules, check constraints, deferrable unique and
 * exclusion constraints, row security that binds the owner.
 * docs/decisions/without-statements.md has the whole list.
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

#include "base/shape.h"

typedef struct Target Target;

/*
 * The caller keeps the relation locked and open, and the whole of which it is a
 * part, unless that is NULL.
 *
 * Errors: 0A000 when the relation has something that we would pass over, 42804
 * as shape_map()
 */
extern Target *target_open(Relation relation, Relation whole, const Shape *shape);

/* Where our columns are; a row that is not plain needs target_will_insert(). */
extern const ShapeMap *target_map(const Target *target);

/* Fires the due triggers, which may raise any error. */
extern void target_close(Target *target);

/*
 * Raises the errors of target_open(), for a table that is written through its
 * parts.
 */
extern void target_check(Relation relation);

/*
 * Puts into a virtual row what the statement would: see fill.h.  The row is
 * valid until the next call.
 *
 * Errors: 23502, errors of users' expressions, and 55000 for an update or delete
 * that a publication needs an identity for
 */
extern void target_will_insert(Target *target, TupleTableSlot *row);
extern void target_will_update(Target *target, TupleTableSlot *row);
extern void target_will_delete(Target *target);

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
