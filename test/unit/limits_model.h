/*-------------------------------------------------------------------------
 *
 * limits_model.h
 *		What limits mean, literally: nothing is remembered but what happened.
 *
 * A model knows the rules, which tasks are booked or run, and when tasks have
 * started.  Whether one more may be booked is found out by looking at all of
 * that for each rule.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMITS_MODEL_H
#define TWT_LIMITS_MODEL_H

#include "slots/type_limits.h"

#define MODEL_TASKS 64
#define MODEL_STARTS 8192
#define MODEL_RULES 32

typedef struct ModelTask
{
	bool		is_used;
	bool		is_started;
	bool		is_over;		/* here, but the database does not know yet */
	const char *type;
	int			handler;
	int			bucket;
} ModelTask;

typedef struct ModelStart
{
	const char *type;
	int64		at_us;
} ModelStart;

typedef struct Model
{
	int64		now_us;
	int			node_max;		/* 0: none */
	int			handler_max[2];
	int			bucket_max[2];	/* -1: none */
	int			nrules;
	LimitRule	rules[MODEL_RULES];
	int64		since_us[MODEL_RULES];	/* when the rule came */
	ModelTask	tasks[MODEL_TASKS];
	int			nstarts;
	ModelStart	starts[MODEL_STARTS];
} Model;

/* Whether the rule counts tasks of both types together. */
extern bool model_together(const Model *model, int rule, const char *a,
						   const char *b);

/* Whether such a task may be booked now. */
extern bool model_may_book(const Model *model, const char *type, int handler,
						   int bucket, int priority);

/* Returns the task's place. */
extern int	model_book(Model *model, const char *type, int handler, int bucket);
extern void model_start(Model *model, int task);

/* Returns by type and handler how many are used, for comparison. */
extern int	model_used(const Model *model, int handler);

#endif							/* TWT_LIMITS_MODEL_H */
