/*-------------------------------------------------------------------------
 *
 * metrics.c
 *		Counts what this node does, in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bitutils.h"

#include "metrics/labels.h"
#include "metrics/metrics.h"

#define FIRST_SLOTS 64

typedef struct Times
{
	Histogram	now[TIME_KINDS];
	int64		fixed[TIME_KINDS][METRICS_BUCKETS];
	int64		taken[TIME_KINDS][METRICS_BUCKETS];
} Times;

struct TypeCounts
{
	char	   *bucket;
	char	   *type;
	char	   *labels;			/* bucket="...",type="..." */
	uint32		hash;
	int64		counts[COUNT_KINDS];
	int64		fixed[COUNT_KINDS];
	int64		taken[COUNT_KINDS];
	Times	   *times;			/* its own, or of (other) */
	bool		has_times;		/* its own */
};

struct Metrics
{
	int			max_types;
	int			max_timed;
	int			ntypes;			/* without (other) */
	int			nall;
	TypeCounts **all;
	int			nslots;			/* a power of 2 */
	TypeCounts **slots;			/* open addressing */
	TypeCounts *last;			/* the last one found; NULL: none */
	Histogram	statements[STATEMENT_KINDS];
	int			nhandlers;
	int64	   *handlers[HANDLER_COUNTS];
	int64		unknown[STUCK_IGNORE + 1];
};

static const int64 bounds_us[METRICS_BOUNDS] = {
	250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000,
	1000000, 2500000, 5000000, 10000000, 30000000, 60000000, 300000000, 900000000, 3600000000
};

/* ---- types ---- */

static uint32
hash_of(const char *bucket, const char *type)
{
	uint32		hash = 2166136261u;

	for (const char *s = type; *s != '\0'; s++)
		hash = (hash ^ (uint8) *s) * 16777619u;
	return (hash ^ (uint8) bucket[0]) * 16777619u;
}

static bool
is_of(const TypeCounts *counts, const char *bucket, const char *type)
{
	return strcmp(counts->type, type) == 0 && strcmp(counts->bucket, bucket) == 0;
}

/* The place of the type, or the free one where it would be. */
static TypeCounts **
find_slot(const Metrics *metrics, uint32 hash, const char *bucket, const char *type)
{
	int			i = hash & (metrics->nslots - 1);

	while (metrics->slots[i] != NULL &&
		   (metrics->slots[i]->hash != hash || !is_of(metrics->slots[i], bucket, type)))
		i = (i + 1) & (metrics->nslots - 1);
	return &metrics->slots[i];
}

static void
grow(Metrics *metrics)
{
	pfree(metrics->slots);
	metrics->nslots *= 2;
	metrics->slots = palloc0(metrics->nslots * sizeof(TypeCounts *));
	for (int i = 0; i < metrics->nall; i++)
	{
		TypeCounts *counts = metrics->all[i];

		*find_slot(metrics, counts->hash, counts->bucket, counts->type) = counts;
	}
}

static TypeCounts *
add_type(Metrics *metrics, const char *bucket, const char *type)
{
	TypeCounts *counts = palloc0(sizeof(TypeCounts));

	counts->bucket = pstrdup(bucket);
	counts->type = pstrdup(type);
	counts->labels = labels_of_type(bucket, type);
	counts->hash = hash_of(bucket, type);
	metrics->all = repalloc(metrics->all, (metrics->nall + 1) * sizeof(TypeCounts *));
	metrics->all[metrics->nall++] = counts;
	if (metrics->nall * 2 > metrics->nslots)
		grow(metrics);
	else
		*find_slot(metrics, counts->hash, bucket, type) = counts;
	return counts;
}

static void
give_times(TypeCounts *counts)
{
	counts->times = palloc0(sizeof(Times));
	counts->has_times = true;
}

static TypeCounts *
other_of(Metrics *metrics, const char *bucket)
{
	TypeCounts *other = *find_slot(metrics, hash_of(bucket, METRICS_OTHER), bucket, METRICS_OTHER);

	if (other == NULL)
	{
		other = add_type(metrics, bucket, METRICS_OTHER);
		give_times(other);
	}
	return other;
}

static TypeCounts *
new_type(Metrics *metrics, const char *bucket, const char *type)
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

/* Tasks of one type often come in a row. */
TypeCounts *
metrics_of(Metrics *metrics, const char *bucket, const char *type)
{
	TypeCounts *counts;

	if (metrics == NULL)
		return NULL;
	if (metrics->last != NULL && is_of(metrics->last, bucket, type))
		return metrics->last;
	counts = *find_slot(metrics, hash_of(bucket, type), bucket, type);
	if (counts == NULL)
		counts = new_type(metrics, bucket, type);
	metrics->last = counts;
	return counts;
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

/*
 * The first bucket whose bound is not below us.  Bounds at least double, so few of
 * them have the same number of bits.
 */
static int
bucket_of(int64 us)
{
	static const uint8 first_of_bits[33] = {
		[8] = 0,[9] = 1,[10] = 2,[11] = 3,[12] = 3,[13] = 4,[14] = 5,[15] = 6,[16] = 7,[17] = 8,
		[18] = 9,[19] = 10,[20] = 11,[21] = 12,[22] = 12,[23] = 13,[24] = 14,[25] = 15,[26] = 16,
		[27] = 17,[28] = 17,[29] = 17,[30] = 18,[31] = 19,[32] = 19
	};
	int			bits;
	int			i;

	if (us <= bounds_us[0])
		return 0;
	if (us > bounds_us[METRICS_BOUNDS - 1])
		return METRICS_BOUNDS;
	bits = pg_leftmost_one_pos64(us) + 1;
	i = first_of_bits[bits];
	while (us > bounds_us[i])
		i++;
	return i;
}

static void
add_time(Histogram *histogram, int64 us)
{
	us = Max(us, 0);
	histogram->counts[bucket_of(us)]++;
	histogram->sum_us += us;
}

void
metrics_time(TypeCounts *counts, TimeKind kind, int64 us)
{
	if (counts != NULL)
		add_time(&counts->times->now[kind], us);
}

void
metrics_statement(Metrics *metrics, StatementKind kind, int64 us)
{
	if (metrics != NULL)
		add_time(&metrics->statements[kind], us);
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

int64
metrics_bound_us(int i)
{
	return bounds_us[i];
}

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

bool
metrics_has_times(const Histogram *histogram)
{
	for (int i = 0; i < METRICS_BUCKETS; i++)
		if (histogram->counts[i] > 0)
			return true;
	return false;
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
	int64		times[TIME_KINDS][METRICS_BUCKETS];
	FlowRow		row = {.bucket = counts->bucket, .type = counts->type};

	subtract(row.counts, counts->fixed, counts->taken, COUNT_KINDS);
	if (counts->has_times)
	{
		for (int kind = 0; kind < TIME_KINDS; kind++)
			subtract(times[kind], counts->times->fixed[kind], counts->times->taken[kind], METRICS_BUCKETS);
		row.waits = metrics_has_times(&counts->times->now[TIME_WAIT]) ? times[TIME_WAIT] : NULL;
		row.runs = metrics_has_times(&counts->times->now[TIME_RUN]) ? times[TIME_RUN] : NULL;
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
	metrics->nslots = FIRST_SLOTS;
	metrics->slots = palloc0(metrics->nslots * sizeof(TypeCounts *));
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
		pfree(counts->bucket);
		pfree(counts->type);
		pfree(counts->labels);
		pfree(counts);
	}
	for (int kind = 0; kind < HANDLER_COUNTS; kind++)
		pfree(metrics->handlers[kind]);
	pfree(metrics->all);
	pfree(metrics->slots);
	pfree(metrics);
}
