/*-------------------------------------------------------------------------
 *
 * table_model.h
 *		The table of triggers as its algorithm is told, done naively.
 *
 * A row per priority, in a row the columns of the types that have something
 * in it, ordered by the age of their first trigger; slots are counters up a
 * tree.  Everything is found by linear search, nothing waits for anything.
 * Types, tasks and limits are small numbers.  Value semantics throughout: a
 * Model is one block of memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_MODEL_H
#define TWT_TABLE_MODEL_H

#include "table/table.h"

#define MODEL_TYPES 12
#define MODEL_LIMITS 8
#define MODEL_TASKS 300
#define MODEL_COLUMN 300		/* triggers in a column */
#define MODEL_POPPED 600

typedef struct ModelTrigger
{
	int			task;
	int64		version;
	int			type;
	int			priority;
	int			size;
	uint64		sequence;
} ModelTrigger;

typedef struct ModelColumn
{
	int			type;
	int			count;
	ModelTrigger triggers[MODEL_COLUMN];
} ModelColumn;

typedef struct ModelRow
{
	int			count;
	ModelColumn columns[MODEL_TYPES];	/* left to right */
} ModelRow;

typedef struct ModelLimit
{
	int			parent;			/* a lower number, or -1 */
	int			max;			/* 0: none */
	int			used;
} ModelLimit;

/* The caller sets what is above the line, after zeroing all. */
typedef struct Model
{
	int			capacity;
	int			share;
	int			type_limit[MODEL_TYPES];	/* -1: no handler */
	ModelLimit	limits[MODEL_LIMITS];
	/* ---- */
	ModelRow	rows[TRIGGER_PRIORITIES];
	uint64		sequence;
	uint64		known[MODEL_TASKS]; /* sequence of the newest, 0: none */
	bool		spilled[MODEL_TYPES];
	int			refill_at[MODEL_TYPES];
	bool		has_left;		/* something of types that are not known */
	int			npopped;
	ModelTrigger popped[MODEL_POPPED];
} Model;

/*
 * pushed_out: the type that lost a trigger to this one, -1: none.  There may
 * be several that could; *is_right says whether that is one of them.
 */
extern TablePush model_push(Model *model, const ModelTrigger *trigger,
							int pushed_out, bool *is_right);

/* The waiting trigger that a newer version displaces: its type; -1: it keeps
 * its place; MODEL_TYPES: there is none. */
extern int	model_displaced(const Model *model, const ModelTrigger *trigger);

/* Types of one family have the same number. */
extern int	model_family(int type);

/* False: nothing can run.  The popped trigger is the last of model->popped. */
extern bool model_pop(Model *model) MUSTCHECK;

/* The last of model->popped takes the place of what leaves it. */
extern void model_forget(Model *model, int popped);
extern void model_return(Model *model, int popped);

extern void model_free_slot(Model *model, int limit);

extern int	model_waiting(const Model *model);
extern int	model_type_waiting(const Model *model, int type);

/* The room to report for a type that spilled, 0: nothing to report. */
extern int	model_take_spilled(Model *model, int type);

/* The same for all types that are not known. */
extern int	model_take_left(Model *model);

#endif							/* TWT_TABLE_MODEL_H */
