/*-------------------------------------------------------------------------
 *
 * rows.h
 *		Rows of our tables, found, changed and appended without a statement.
 *
 * A SQL statement per task costs more than the row that it changes.  Here a
 * call opens the table once, and each row is one descent of the primary key
 * and one heap operation.  Users' triggers fire at the close, or the opening
 * fails with 0A000: see target.h.
 *
 * From rows_open() to rows_close() we see what a statement that began at
 * rows_open() would see, including the caller's own earlier changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ROWS_H
#define TWT_ROWS_H

#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/uuid.h"

#include "base/shape.h"

/* Columns of twtasks.task, as schema.sql declares them. */
typedef enum TaskColumn
{
	TASK_ID = 1,
	TASK_VERSION,
	TASK_NEXT_EVENT_TIME,
	TASK_STATE_TIME,
	TASK_CREATED,
	TASK_STATUS,
	TASK_STUCK,
	TASK_TRIES,
	TASK_SIZE,
	TASK_PRIORITY,
	TASK_QUEUED,
	TASK_TYPE,
	TASK_BUCKET,
	TASK_DEADLINE,
	TASK_EXPIRES,
	TASK_INCARNATION,
	TASK_TOKEN,
	TASK_SUB_TYPE,
	TASK_KEY,
	TASK_ERROR,
	TASK_DATA,
	TASK_PAYLOAD,
	TASK_CONTEXT,
	TASK_PLANNED,
	TASK_ADDED_BY,
	TASK_COLUMNS = TASK_ADDED_BY
} TaskColumn;

/* Attributes of twtasks.task_input, from 0. */
typedef enum InputColumn
{
	INPUT_ID,
	INPUT_VERSION,
	INPUT_TYPE,
	INPUT_SUB_TYPE,
	INPUT_BUCKET,
	INPUT_PRIORITY,
	INPUT_TRIES,
	INPUT_GRABBED,
	INPUT_DATA,
	INPUT_PAYLOAD,
	INPUT_CONTEXT,
	INPUT_KEY,
	INPUT_COLUMNS
} InputColumn;

extern const Shape task_shape;
extern const Shape input_shape;

typedef struct Rows Rows;
typedef struct Appender Appender;

typedef enum RowResult
{
	ROW_OK,
	ROW_CHANGED,				/* another session changed it: look again */
	ROW_GONE
} RowResult;

/* A relation of schema twtasks; raises an error if it does not exist. */
extern Oid	rows_relation(const char *name);

/* The oid of a label of an enum type of schema twtasks. */
extern Oid	rows_label(const char *type, const char *label);

/*
 * Opens twtasks.task for writing.  The lock stays until the end of the
 * transaction.
 *
 * Errors: 42804 when a column of ours is not there
 */
extern Rows *rows_open(void);

/* The same for reading only. */
extern Rows *rows_open_to_read(void);

extern void rows_close(Rows *rows);

/*
 * Returns the row with this id, with all columns deformed; NULL if there is
 * none.  The row is valid until the next call.  rows_find_at() first tries the
 * place where the caller saw the row.  Any value of at is safe, and that
 * attempt prunes no page.
 */
extern TupleTableSlot *rows_find(Rows *rows, const pg_uuid_t *id);
extern TupleTableSlot *rows_find_at(Rows *rows, const pg_uuid_t *id, const ItemPointerData * at);

/* A column of a found row. */
static inline Datum
row_value(TupleTableSlot *row, TaskColumn column)
{
	return row->tts_values[column - 1];
}

static inline bool
row_null(TupleTableSlot *row, TaskColumn column)
{
	return row->tts_isnull[column - 1];
}

/* The INPUT_COLUMNS attributes of a found row of a running task. */
extern void row_input(TupleTableSlot *row, Datum *values, bool *nulls);

/*
 * Whether our transaction has changed a found row since rows_open(); that
 * snapshot still shows the old row.
 */
extern bool row_is_outdated(TupleTableSlot *row);

/*
 * Makes the next version of a found row: rows_edit() gives a copy, row_set()
 * changes its columns, rows_update() writes it.  rows_update() waits for
 * nobody, and returns false when another session has locked, changed or
 * deleted the row.  rows_update_locked() is for a row of rows_lock(), saves the
 * attempt of rows_update() that such a lock refuses, and returns false when our
 * transaction has changed the row since.
 *
 * Errors: 40001 when the transaction must not see that change.
 */
extern TupleTableSlot *rows_edit(Rows *rows, TupleTableSlot *row);
extern pg_nodiscard bool rows_update(Rows *rows, TupleTableSlot *row);
extern pg_nodiscard bool rows_update_locked(Rows *rows, TupleTableSlot *row);

/*
 * Locks a found row until the end of the transaction, and waits for a session
 * that has locked it.  The row then holds its newest version.  False: it is
 * gone.
 *
 * Errors: 40001 when the transaction must not see that version.
 */
extern pg_nodiscard bool rows_lock(Rows *rows, TupleTableSlot *row);

static inline void
row_set(TupleTableSlot *row, TaskColumn column, Datum value)
{
	row->tts_values[column - 1] = value;
	row->tts_isnull[column - 1] = false;
}

static inline void
row_clear(TupleTableSlot *row, TaskColumn column)
{
	row->tts_isnull[column - 1] = true;
}

/*
 * Deletes a found row, and waits for a session that has locked it.
 * ROW_CHANGED: the row now holds another session's new version, and is locked.
 *
 * Errors: 40001 when the transaction must not see that change.
 */
extern pg_nodiscard RowResult rows_delete(Rows *rows, TupleTableSlot *row);

/*
 * Many new rows for one table, which the caller has open.  We copy the rows,
 * and write them in append_flush() at the latest.  A value that is stored out
 * of line may belong to a row that this command has deleted.
 *
 * The arrays of a row have an element for each column of the table; foreign
 * columns are null, and get the defaults of the whole of which the table is a
 * part, or of the table itself if whole is NULL.  append_map() tells where our
 * columns are.
 */
extern Appender *append_open(Relation relation, Relation whole, const Shape *shape);
extern const ShapeMap *append_map(const Appender *append);
extern void append_row(Appender *append, Datum *values, bool *nulls);
extern void append_flush(Appender *append);
extern void append_close(Appender *append);

#endif							/* TWT_ROWS_H */
