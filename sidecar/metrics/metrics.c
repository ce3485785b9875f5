/*-------------------------------------------------------------------------
 *
 * metrics.c
 *		Counts what this node does, in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "metrics/metrics.h"

typedef struct Times
{
	Histogram	now[TIME_KINDS];
	int64		fixed[TIME_KINDS][HISTOGRAM_BUCKETS];
	int64		taken[TIME_KINDS][HISTOGRAM_BUCKETS];
} Times;

struct TypeCounts
{
	const char *bucket;
	char	   *type;
	char	   *labels;			/* bucket="...",type="..." */
	int64		counts[COUNT_KINDS];
	int64		fixed[COUNT_KINDS];
	int64		taken[COUNT_KINDS];
	Times	   *times;			/* its own, or of (other) */
	bool		has_times;		/* its own */
};

typedef struct Bucket
{
	char	   *name;
	Map		   *types;			/* TypeCounts by name of type */
} Bucket;

struct Metrics
{
	int			max_types;
	int			max_timed;
	int			ntypes;			/* without (other) */
	int			nall;
	TypeCounts **all;
	int			nbuckets;
	Bucket	   *buckets;
	Histogram	statements[STATEMENT_KINDS];
	int			nhandlers;
	int64	   *handlers[HANDLER_COUNTS];
	int64		unknown[STUCK_IGNORE + 1];
};

/* ---- types ---- */

static Bucket *
bucket_of(Metrics *metrics, const char *name)
{
	Bucket	   *bucket;

	for (int i = 0; i < metrics->nbuckets; i++)
		if (strcmp(metrics->buckets[i].name, name) == 0)
			return &metrics->buckets[i];
	metrics->buckets = repalloc(metrics->buckets, (metrics->nbuckets + 1) * sizeof(Bucket));
	bucket = &metrics->buckets[metrics->nbuckets++];
	bucket->name = pstrdup(name);
	bucket->types = map_new(0);
	return bucket;
}

static TypeCounts *
add_type(Metrics *metrics, Bucket *bucket, const char *type)
{
	TypeCounts *counts = palloc0(sizeof(TypeCounts));

	counts->bucket = bucket->name;
	counts->type = pstrdup(type);
	counts->labels = prometheus_labels("bucket", bucket->name, "type", type);
	metrics->all = repalloc(metrics->all, (metrics->nall + 1) * sizeof(TypeCounts *));
	metrics->all[metrics->nall++] = counts;
	map_set(bucket->types, counts->type, counts);
	return counts;
}

static void
give_times(TypeCounts *counts)
{
	counts->times = palloc0(sizeof(Times));
	counts->has_times = true;
}

static TypeCounts *
other_of(Metrics *metrics, Bucket *bucket)
{
	TypeCounts *other = map_get(bucket->types, METRICS_OTHER);

	if (other == NULL)
	{
		other = add_type(metrics, bucket, METRICS_OTHER);
		give_times(other);
	}
	return other;
}

static TypeCounts *
new_type(Metrics *metrics, Bucket *bucket, const char *type)
{
	TypeCounts *counts;

	if (metrics->ntypes == metrics->max_types)
		return other_of(metrics, bucket);
	counts = add_type(metrics, bucket, type);
	if (metrics->ntypes++ < metrics->max_timed)
		give_times(counts);
	else
		counts->times = other_of(metrics, bucket)->times;
	return counts;
}

TypeCounts *
metrics_of(Metrics *metrics, const char *bucket_name, const char *type)
{
	Bucket	   *bucket;
	TypeCounts *counts;

	if (metrics == NULL)
		return NULL;
	bucket = bucket_of(metrics, bucket_name);
	counts = map_get(bucket->types, type);
	return counts == NULL ? new_type(metrics, bucket, type) : counts;
}

/* ---- counts ---- */

void
metrics_count(TypeCounts *counts, CountKind kind)
{
	if (counts != NULL)
		counts->counts[kind]++;
}

static CountKind
kind_of_end(TaskResult result, const char *status)
{
	static const CountKind kinds[] = {
		[TASK_DONE] = COUNT_DONE,[TASK_DELETE] = COUNT_DELETE,[TASK_RETRY] = COUNT_RETRY,
		[TASK_REPEAT] = COUNT_REPEAT,[TASK_ERROR] = COUNT_ERROR,[TASK_ACCEPTED] = COUNT_ACCEPTED,
		[TASK_CANCELLED] = COUNT_CANCELLED,[TASK_RELEASE] = COUNT_RELEASED,[TASK_FAILURE] = COUNT_RETRY
	};

	if (status == NULL || *status == '\0')
		return kinds[result];
	if (strcmp(status, "ERROR") == 0)
		return COUNT_ERROR;
	if (strcmp(status, "FAILED") == 0)
		return COUNT_FAILED;
	if (strcmp(status, "CANCELLED") == 0)
		return COUNT_CANCELLED;
	return result == TASK_ERROR ? COUNT_RETRY : kinds[result];
}

CountKind
metrics_ended(TypeCounts *counts, TaskResult result, const char *status)
{
	CountKind	kind = kind_of_end(result, status);

	metrics_count(counts, kind);
	return kind;
}

void
metrics_time(TypeCounts *counts, TimeKind kind, int64 us)
{
	if (counts != NULL)
		histogram_add(&counts->times->now[kind], us);
}

void
metrics_statement(Metrics *metrics, StatementKind kind, int64 us)
{
	if (metrics != NULL)
		histogram_add(&metrics->statements[kind], us);
}

void
metrics_handler(Metrics *metrics, int handler, HandlerCount kind)
{
	if (metrics != NULL && handler < metrics->nhandlers)
		metrics->handlers[kind][handler]++;
}

void
metrics_unknown(Metrics *metrics, StuckRule rule, int64 tasks)
{
	if (metrics != NULL)
		metrics->unknown[rule] += tasks;
}

/* ---- for metrics_text.h ---- */

bool
metrics_figures(const Metrics *metrics, int i, TypeFigures *figures)
{
	const TypeCounts *counts;

	if (i >= metrics->nall)
		return false;
	counts = metrics->all[i];
	figures->labels = counts->labels;
	figures->counts = counts->counts;
	figures->times = counts->has_times ? counts->times->now : NULL;
	return true;
}

const Histogram *
metrics_of_statement(const Metrics *metrics, StatementKind kind)
{
	return &metrics->statements[kind];
}

int64
metrics_of_handler(const Metrics *metrics, int handler, HandlerCount kind)
{
	return metrics->handlers[kind][handler];
}

int64
metrics_of_rule(const Metrics *metrics, StuckRule rule)
{
	return metrics->unknown[rule];
}

/* ---- for twtasks.flow ---- */

static bool
has_news(const TypeCounts *counts)
{
	return memcmp(counts->fixed, counts->taken, sizeof(counts->fixed)) != 0 ||
		(counts->has_times &&
		 memcmp(counts->times->fixed, counts->times->taken, sizeof(counts->times->fixed)) != 0);
}

bool
metrics_flow_fix(Metrics *metrics)
{
	bool		any = false;

	for (int i = 0; i < metrics->nall; i++)
	{
		TypeCounts *counts = metrics->all[i];

		memcpy(counts->fixed, counts->counts, sizeof(counts->fixed));
		for (int kind = 0; kind < TIME_KINDS && counts->has_times; kind++)
			memcpy(counts->times->fixed[kind], counts->times->now[kind].counts,
				   sizeof(counts->times->fixed[kind]));
		any |= has_news(counts);
	}
	return any;
}

void
metrics_flow_taken(Metrics *metrics)
{
	for (int i = 0; i < metrics->nall; i++)
	{
		TypeCounts *counts = metrics->all[i];

		memcpy(counts->taken, counts->fixed, sizeof(counts->taken));
		if (counts->has_times)
			memcpy(counts->times->taken, counts->times->fixed, sizeof(counts->times->taken));
	}
}

static void
subtract(int64 *result, const int64 *from, const int64 *what, int n)
{
	for (int i = 0; i < n; i++)
		result[i] = from[i] - what[i];
}

static void
pass_row(const TypeCounts *counts, void (*fn) (void *arg, const FlowRow *row), void *arg)
{
	int64		times[TIME_KINDS][HISTOGRAM_BUCKETS];
	FlowRow		row = {.bucket = counts->bucket, .type = counts->type};

	subtract(row.counts, counts->fixed, counts->taken, COUNT_KINDS);
	if (counts->has_times)
	{
		for (int kind = 0; kind < TIME_KINDS; kind++)
			subtract(times[kind], counts->times->fixed[kind], counts->times->taken[kind], HISTOGRAM_BUCKETS);
		row.waits = histogram_is_empty(&counts->times->now[TIME_WAIT]) ? NULL : times[TIME_WAIT];
		row.runs = histogram_is_empty(&counts->times->now[TIME_RUN]) ? NULL : times[TIME_RUN];
	}
	fn(arg, &row);
}

int
metrics_flow_rows(const Metrics *metrics, void (*fn) (void *arg, const FlowRow *row), void *arg)
{
	int			n = 0;

	for (int i = 0; i < metrics->nall; i++)
	{
		if (!has_news(metrics->all[i]))
			continue;
		n++;
		if (fn != NULL)
			pass_row(metrics->all[i], fn, arg);
	}
	return n;
}

/* ---- open, free ---- */

Metrics *
metrics_open(int max_types, int max_timed, int nhandlers)
{
	Metrics    *metrics = palloc0(sizeof(Metrics));

	metrics->max_types = max_types;
	metrics->max_timed = max_timed;
	metrics->all = palloc(sizeof(TypeCounts *));
	metrics->buckets = palloc(sizeof(Bucket));
	metrics->nhandlers = nhandlers;
	for (int kind = 0; kind < HANDLER_COUNTS; kind++)
		metrics->handlers[kind] = palloc0(Max(nhandlers, 1) * sizeof(int64));
	return metrics;
}

void
metrics_free(Metrics *metrics)
{
	for (int i = 0; i < metrics->nall; i++)
	{
		TypeCounts *counts = metrics->all[i];

		if (counts->has_times)
			pfree(counts->times);
		pfree(counts->type);
		pfree(counts->labels);
		pfree(counts);
	}
	for (int kind = 0; kind < HANDLER_COUNTS; kind++)
		pfree(metrics->handlers[kind]);
	pfree(metrics->all);
	for (int i = 0; i < metrics->nbuckets; i++)
	{
		map_free(metrics->buckets[i].types);
		pfree(metrics->buckets[i].name);
	}
	pfree(metrics->buckets);
	pfree(metrics);
}
