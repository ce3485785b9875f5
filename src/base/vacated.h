/*-------------------------------------------------------------------------
 *
 * vacated.h
 *		Pages of twtasks.task that rows have left, offered to new rows.
 *
 *		from: rows.c
 *
 * PostgreSQL learns from VACUUM alone where a table has room.  Between two of
 * them a table of a queue would grow by each task that passes through it.  So a
 * session notes the pages from which it deletes rows.  When nobody can see those
 * rows any more, it prunes the pages and tells the free space map.
 *
 * The notes are hints: they survive neither the session nor a long snapshot
 * that keeps more rows alive than they hold.  VACUUM does the rest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_VACATED_H
#define TWT_VACATED_H

#include "executor/tuptable.h"
#include "utils/relcache.h"

/* Notes the page of a row that our transaction has found and deleted. */
extern void vacated_note(Relation table, TupleTableSlot *row);

/*
 * Offers the room of noted pages whose rows nobody sees, if the pages are still in
 * memory.  The caller has the table locked as for a write.  A session that uses a
 * page is not waited for.
 */
extern void vacated_offer(Relation table);

#endif							/* TWT_VACATED_H */
