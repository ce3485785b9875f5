/*-------------------------------------------------------------------------
 *
 * metrics.h
 *		Counts what this node does, in memory, for /metrics and for twtasks.flow.
 *
 *		from: grab.h, execute.h, finish.h, duties.h, worker_process.h
 *		to: metrics_text.h, flow.h
 *
 * Each bucket and type has counters and two histograms.  A count costs a few
 * nanoseconds, so that the burn-down does not notice it: tables keep the counters
 * of their types, so no task looks them up.
 *
 * The number of types is bounded: the first max_types keep their places until the
 * process ends, and each bucket counts all others as "(other)".  Likewise the first
 * max_timed types have histograms, and the others share the one of "(other)".
 *
 * Each function accepts NULL for the metrics or counts, and then does nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_METRICS_H
#define TWT_METRICS_H

#include "base/policy.h"
#include "base/prometheus.h"
#include "base/task.h"

typedef struct Metrics Metrics;

/* The counters of one type in one bucket. */
typedef struct TypeCounts TypeCounts;

#define METRICS_OTHER "(other)"

typedef enum CountKind
{
	COUNT_GRABS,
	COUNT_LOST_GRABS,
	COUNT_REFUSED,				/* the database refused the result */
	COUNT_STARTED,
	COUNT_UNREPORTED,			/* tries whose result is never reported */
	COUNT_DONE,					/* this and the rest: the database stored it */
	COUNT_DELETE,
	COUNT_RETRY,
	COUNT_REPEAT,
	COUNT_ERROR,
	COUNT_FAILED,
	COUNT_CANCELLED,
	COUNT_ACCEPTED,
	COUNT_RELEASED,
	COUNT_KINDS
} CountKind;

typedef enum TimeKind
{
	TIME_WAIT,					/* from runnable to started */
	TIME_RUN,					/* from started to its result */
	TIME_KINDS
} TimeKind;

typedef enum StatementKind
{
	STATEMENT_GRAB,
	STATEMENT_FINISH,
	STATEMENT_KINDS
} StatementKind;

typedef enum HandlerCount
{
	HANDLER_LINES,
	HANDLER_RESTARTS,
	HANDLER_PROTOCOL_ERRORS,
	HANDLER_COUNTS
} HandlerCount;

/* A row of twtasks.flow: the figures of a type since the last one that was taken. */
typedef struct FlowRow
{
	const char *bucket;
	const char *type;
	int64		counts[COUNT_KINDS];
	const int64 *waits;			/* HISTOGRAM_BUCKETS each; NULL: not measured,
								 * or in those of (other) */
	const int64 *runs;
} FlowRow;

extern Metrics *metrics_open(int max_types, int max_timed, int nhandlers);
extern void metrics_free(Metrics *metrics);

/* The counters of the type; stay where they are.  Cost: a hash lookup. */
extern TypeCounts *metrics_of(Metrics *metrics, const char *bucket, const char *type);

extern void metrics_count(TypeCounts *counts, CountKind kind);

/*
 * The database has stored a result.  status is the task's next one, if the database
 * told: it decides whether a try that failed is repeated.  Returns what was counted.
 */
extern CountKind metrics_ended(TypeCounts *counts, TaskResult result, const char *status);

extern void metrics_time(TypeCounts *counts, TimeKind kind, int64 us);
extern void metrics_statement(Metrics *metrics, StatementKind kind, int64 us);
extern void metrics_handler(Metrics *metrics, int handler, HandlerCount kind);

/* The leader has applied this stuck rule to so many tasks. */
extern void metrics_unknown(Metrics *metrics, StuckRule rule, int64 tasks);

/* ---- for metrics_text.h ---- */

typedef struct TypeFigures
{
	const char *labels;			/* bucket and type */
	const int64 *counts;		/* by CountKind */
	const Histogram *times;		/* by TimeKind; NULL: in those of (other) */
} TypeFigures;

/* The type with that number, from 0; false: there are no more. */
extern bool metrics_figures(const Metrics *metrics, int i, TypeFigures *figures);
extern const Histogram *metrics_of_statement(const Metrics *metrics, StatementKind kind);
extern int64 metrics_of_handler(const Metrics *metrics, int handler, HandlerCount kind);
extern int64 metrics_of_rule(const Metrics *metrics, StuckRule rule);

/* ---- for twtasks.flow ---- */

/*
 * Fixes the figures of the next rows, and returns whether any differ from the rows
 * taken last.  metrics_flow_taken(): the fixed rows are stored.
 */
extern bool metrics_flow_fix(Metrics *metrics);
extern void metrics_flow_taken(Metrics *metrics);

/* Calls fn with each fixed row that has news; returns their number.  fn may be NULL. */
extern int	metrics_flow_rows(const Metrics *metrics,
							  void (*fn) (void *arg, const FlowRow *row), void *arg);

#endif							/* TWT_METRICS_H */
