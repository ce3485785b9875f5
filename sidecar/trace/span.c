/*-------------------------------------------------------------------------
 *
 * span.c
 *		A try as a span of a distributed trace.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>
#include <unistd.h>

#include "base/json_member.h"
#include "base/text.h"
#include "base/trace.h"
#include "common/pg_prng.h"
#include "metrics/metrics_text.h"
#include "trace/span.h"

/* Digits of ids. */
#define TRACE_LEN 32
#define SPAN_LEN 16

/* Where the parts of a traceparent begin, and its length. */
#define AT_TRACE 3
#define AT_SPAN 36
#define AT_FLAGS 53
#define PARENT_LEN 55

/* The most that a context gains: a member with a traceparent, and the null of a tracestate. */
#define GAIN_MAX 80

struct Spans
{
	const Config *config;
	pg_prng_state random;
	SpanSink	sink;
	void	   *arg;
};

struct Span
{
	const Spans *spans;
	bool		is_sampled;
	char		trace[TRACE_LEN + 1];
	char		id[SPAN_LEN + 1];
	char		parent[SPAN_LEN + 1];	/* "": none */
	char		wait[SPAN_LEN + 1]; /* id of the span of its wait */
	char		link[TRACE_LEN + 1 + SPAN_LEN + 1]; /* as in a traceparent;
													 * "": none */
	char		task[TASK_ID_TEXT + 1];
	int			tries;
	int64		start_us;		/* since 1970 */
	int64		end_us;
	int64		waited_us;		/* -1: not known */
	char		text[FLEXIBLE_ARRAY_MEMBER];	/* see copy_with() */
};

/* ---- ids ---- */

static uint64
next_random(Spans *spans)
{
	uint64		value;

	do
		value = pg_prng_uint64(&spans->random);
	while (value == 0);
	return value;
}

/* As OpenTelemetry's ratio sampler: by the low 63 bits of the trace id. */
static bool
is_in_sample(const Spans *spans, uint64 low)
{
	double		sample = spans->config->traces.sample;

	return sample >= 1 || (double) (low & PG_INT64_MAX) < sample * (double) PG_INT64_MAX;
}

static void
begin_trace(Spans *spans, Span *span)
{
	uint64		low = next_random(spans);

	snprintf(span->trace, sizeof(span->trace), "%016" INT64_MODIFIER "x%016" INT64_MODIFIER "x",
			 next_random(spans), low);
	span->is_sampled = is_in_sample(spans, low);
}

/* The last digit holds the flag of a sampled trace. */
static bool
has_sampled_flag(const char *parent)
{
	return strchr("13579bdf", parent[AT_FLAGS + 1]) != NULL;
}

/* parent: NULL, or well-formed. */
static void
set_ids(Spans *spans, Span *span, const char *parent, bool is_retry)
{
	snprintf(span->id, sizeof(span->id), "%016" INT64_MODIFIER "x", next_random(spans));
	snprintf(span->wait, sizeof(span->wait), "%016" INT64_MODIFIER "x", next_random(spans));
	if (parent == NULL || is_retry)
		begin_trace(spans, span);
	if (parent == NULL)
		return;
	span->is_sampled = has_sampled_flag(parent);
	if (is_retry)
		strlcpy(span->link, parent + AT_TRACE, sizeof(span->link));
	else
	{
		strlcpy(span->trace, parent + AT_TRACE, sizeof(span->trace));
		strlcpy(span->parent, parent + AT_SPAN, sizeof(span->parent));
	}
}

/* ---- the context of the handler ---- */

/* Replaces a member of the object, or puts it first.  Frees the object's text. */
static char *
set_member(char *object, const char *name, const char *value)
{
	size_t		len;
	const char *old = json_member(object, name, &len);
	bool		is_empty = object[strspn(object + 1, " ") + 1] == '}';
	char	   *set = old != NULL ? psprintf("%.*s%s%s", (int) (old - object), object, value, old + len) :
		psprintf("{\"%s\": %s%s%s", name, value, is_empty ? "" : ", ", object + 1);

	pfree(object);
	return set;
}

/*
 * A tracestate belongs to the trace of its traceparent.  NULL: the context stays as it is,
 * since it is no object, or would be too long to be read.
 */
static char *
new_context(const Span *span, const char *context)
{
	char		parent[PARENT_LEN + 3];
	char	   *set;
	size_t		len;

	if (context != NULL && (context[0] != '{' || strlen(context) + GAIN_MAX > CONTEXT_READ_MAX))
		return NULL;
	snprintf(parent, sizeof(parent), "\"00-%s-%s-0%d\"", span->trace, span->id, span->is_sampled);
	set = set_member(pstrdup(context == NULL ? "{}" : context), "traceparent", parent);
	if (span->parent[0] == '\0' && json_member(set, "tracestate", &len) != NULL)
		set = set_member(set, "tracestate", "null");
	return set;
}

/* A task's span has the context of its handler as text; an outcome's has the type. */
static Span *
copy_with(const Span *span, const char *text)
{
	size_t		len = text == NULL ? 0 : strlen(text);
	Span	   *copy = palloc(sizeof(Span) + len + 1);

	memcpy(copy, span, sizeof(Span));
	memcpy(copy->text, text == NULL ? "" : text, len + 1);
	return copy;
}

static void
begin(Spans *spans, Task *task)
{
	Span		span = {.spans = spans, .tries = task->tries};
	char	   *context;
	Trace		trace;

	trace_init(&trace, task->context);
	set_ids(spans, &span, trace.parent, task->tries > 1);
	trace_clear(&trace);
	memcpy(span.task, task->id_text, sizeof(span.task));
	context = new_context(&span, task->context);
	task->span = copy_with(&span, context);
	if (context != NULL)
		task->context = task->span->text;
	pfree(context);
}

void
span_begin(Spans *spans, Task *task)
{
	if (spans != NULL && spans->config->traces.url != NULL)
		begin(spans, task);
}

/* ---- the end ---- */

Span *
span_stop(const Task *task, int64 now_us)
{
	int64		began_us = Max(task->started_us, task->taken_us);
	Span	   *span;
	struct timespec now;

	if (task->span == NULL || (!task->span->is_sampled && !task->span->spans->config->traces.always_errors))
		return NULL;
	span = copy_with(task->span, task->type);
	clock_gettime(CLOCK_REALTIME, &now);
	span->end_us = SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
	span->start_us = span->end_us - (task->started_us == 0 ? 0 : now_us - began_us);
	span->waited_us = task->started_us == 0 || task->waited_us < 0 ? -1 : task->waited_us + began_us - task->started_us;
	return span;
}

static bool
is_failure(CountKind result)
{
	return result == COUNT_RETRY || result == COUNT_ERROR || result == COUNT_FAILED || result == COUNT_REFUSED;
}

static void
append_line(StringInfo out, const Span *span, CountKind result)
{
	appendStringInfo(out, "{\"trace\":\"%s\",\"span\":\"%s\",\"wait\":\"%s\",\"parent\":\"%s\",\"link\":\"%s\",\"task\":\"%s\",\"try\":%d,",
					 span->trace, span->id, span->wait, span->parent, span->link, span->task, span->tries);
	appendStringInfo(out, "\"waited\":" INT64_FORMAT ",\"start\":" INT64_FORMAT ",\"end\":" INT64_FORMAT ",\"result\":\"%s\",\"failed\":%s,\"type\":\"",
					 span->waited_us, span->start_us, span->end_us, metrics_result(result), is_failure(result) ? "true" : "false");
	text_escape_json(out, span->text, strlen(span->text), SIZE_MAX);
	appendStringInfoString(out, "\"}");
}

/* A task that was given back was not tried. */
void
span_end(const Span *span, CountKind result)
{
	StringInfoData line;

	if (span == NULL || span->spans->sink == NULL || result == COUNT_RELEASED || (!span->is_sampled && !is_failure(result)))
		return;
	initStringInfo(&line);
	append_line(&line, span, result);
	span->spans->sink(span->spans->arg, line.data, line.len);
	pfree(line.data);
}

/* ---- open, reload, free ---- */

Spans *
spans_open(const Config *config)
{
	Spans	   *spans = palloc0(sizeof(Spans));
	struct timespec now;

	spans->config = config;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!pg_prng_strong_seed(&spans->random))
		pg_prng_seed(&spans->random, (uint64) (now.tv_sec * INT64CONST(1000000000) + now.tv_nsec) ^ (uint64) getpid() << 48);
	return spans;
}

void
spans_on_end(Spans *spans, SpanSink sink, void *arg)
{
	spans->sink = sink;
	spans->arg = arg;
}

void
spans_reload(Spans *spans, const Config *config)
{
	spans->config = config;
}

void
spans_free(Spans *spans)
{
	pfree(spans);
}
