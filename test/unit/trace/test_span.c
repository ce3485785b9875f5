/*-------------------------------------------------------------------------
 *
 * test_span.c
 *		Any traceparent gives a well-formed span, and the handler's context leads to it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "check.h"
#include "base/trace.h"
#include "trace/span.h"
#include "workers/notify/trace_span.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define CALLER "b7ad6b7169203331"
#define PARENT "00-" TRACE "-" CALLER

static Config config;
static Spans *spans;
static json_t *line;			/* the last one; NULL: none */
static char *otlp;				/* ... as the helper makes it of it */

static void
on_span(void *arg, const char *text, size_t len)
{
	line = json_loadb(text, len, 0, NULL);
	otlp = trace_span_make(text, len);
	assert_non_null(line);
	assert_non_null(otlp);
}

static int
open_spans(void **state)
{
	static char url[] = "http://receiver";

	config.traces.url = url;
	config.traces.sample = 1;
	config.traces.always_errors = 0;
	spans = spans_open(&config);
	spans_on_end(spans, on_span, NULL);
	return 0;
}

static int
free_spans(void **state)
{
	spans_free(spans);
	return 0;
}

static Task *
begin(const char *context, int tries)
{
	static char type[] = "PAY|\"A\"\n";
	Task	   *task = palloc0(sizeof(Task));

	strlcpy(task->id_text, "01a217e9-c5e2-7a28-a310-01d8fdf4b47e", sizeof(task->id_text));
	task->type = type;
	task->tries = tries;
	task->context = unconstify(char *, context);
	task->started_us = 1000;
	task->waited_us = 500;
	span_begin(spans, task);
	return task;
}

static void
forget_line(void)
{
	json_decref(line);
	pfree(otlp);
	line = NULL;
	otlp = NULL;
}

/* Whether a span was sent. */
static bool
end(Task *task, CountKind result)
{
	Span	   *span = span_stop(task, 4000);

	forget_line();
	span_end(span, result);
	pfree(span);
	pfree(task->span);
	pfree(task);
	return line != NULL;
}

static const char *
of_line(const char *name)
{
	return json_string_value(json_object_get(line, name));
}

static int64
integer_of(const char *name)
{
	return json_integer_value(json_object_get(line, name));
}

static void
expect_hex(const char *text, size_t len)
{
	assert_int_equal(strspn(text, "0123456789abcdef"), len);
	assert_int_equal(strlen(text), len);
	assert_int_not_equal(strspn(text, "0"), len);
}

/* ---- the tests ---- */

static void
test_first_try(void **state)
{
	Task	   *task = begin("{\"a\": 1e400, \"traceparent\": \"" PARENT "-01\", \"tracestate\": \"v=1\", \"b\": [\"traceparent\"]}", 1);
	char	   *context = pstrdup(task->context);
	char	   *expected;

	assert_true(end(task, COUNT_DONE));
	assert_string_equal(of_line("trace"), TRACE);
	assert_string_equal(of_line("parent"), CALLER);
	assert_string_equal(of_line("link"), "");
	assert_string_equal(of_line("type"), "PAY|\"A\"\n");
	expect_hex(of_line("span"), 16);
	assert_int_equal(integer_of("end") - integer_of("start"), 3000);
	expected = psprintf("{\"a\": 1e400, \"traceparent\": \"00-" TRACE "-%s-01\", \"tracestate\": \"v=1\", \"b\": [\"traceparent\"]}", of_line("span"));
	assert_string_equal(context, expected);
	pfree(expected);
	pfree(context);
}

static void
test_retry(void **state)
{
	Task	   *task = begin("{\"tracestate\": \"v=1\", \"traceparent\": \"" PARENT "-01\"}", 2);
	Trace		trace;

	trace_init(&trace, task->context);
	assert_non_null(trace.parent);
	assert_null(trace.state);
	assert_true(end(task, COUNT_DONE));
	assert_string_equal(of_line("link"), TRACE "-" CALLER);
	assert_string_equal(of_line("parent"), "");
	expect_hex(of_line("trace"), 32);
	assert_string_not_equal(of_line("trace"), TRACE);
	assert_memory_equal(trace.parent + 3, of_line("trace"), 32);
	assert_memory_equal(trace.parent + 36, of_line("span"), 16);
	trace_clear(&trace);
}

/* Each begins a trace, which its handler gets. */
static void
test_malformed(void **state)
{
	static const char *const contexts[] = {
		NULL, "{}", "{ }", "{\"a\": {\"traceparent\": \"" PARENT "-01\"}}",
		"{\"traceparent\": \"\"}", "{\"traceparent\": null}", "{\"traceparent\": 1}", "{\"traceparent\": {\"a\": [1]}}",
		"{\"traceparent\": \"" PARENT "\"}", "{\"traceparent\": \"" PARENT "-1\"}", "{\"traceparent\": \"" PARENT "-011\"}",
		"{\"traceparent\": \"" PARENT "-01-more\"}", "{\"traceparent\": \"ff-" TRACE "-" CALLER "-01\"}",
		"{\"traceparent\": \"00-00000000000000000000000000000000-" CALLER "-01\"}",
		"{\"traceparent\": \"00-" TRACE "-0000000000000000-01\"}",
		"{\"traceparent\": \"00-" TRACE "-B7AD6B7169203331-01\"}", "{\"traceparent\": \"" PARENT "-0g\"}",
		"{\"traceparent\": \"00-\\\"}, -" TRACE "\", \"tracestate\": \"v=1\"}", "{\"tracestate\": \"v=1\"}"
	};

	for (size_t i = 0; i < lengthof(contexts); i++)
	{
		Task	   *task = begin(contexts[i], 1);
		Trace		trace;

		trace_init(&trace, task->context);
		assert_non_null(trace.parent);
		assert_null(trace.state);
		assert_true(end(task, COUNT_DONE));
		assert_string_equal(of_line("parent"), "");
		assert_string_equal(of_line("link"), "");
		expect_hex(of_line("trace"), 32);
		assert_memory_equal(trace.parent + 3, of_line("trace"), 32);
		trace_clear(&trace);
	}
}

/* A context that is no object, or would be too long to be read, stays as it is. */
static void
test_untouched(void **state)
{
	char	   *large = psprintf("{\"a\": \"%0*d\", \"traceparent\": \"" PARENT "-01\"}", CONTEXT_READ_MAX, 1);
	char	   *nearly = psprintf("{\"a\": \"%0*d\"}", CONTEXT_READ_MAX - 70, 1);
	const char *contexts[] = {"[1]", "\"traceparent\"", "1", "null", large, nearly};

	for (size_t i = 0; i < lengthof(contexts); i++)
	{
		Task	   *task = begin(contexts[i], 1);

		assert_ptr_equal(task->context, contexts[i]);
		assert_true(end(task, COUNT_DONE));
		assert_string_equal(of_line("parent"), "");
	}
	pfree(nearly);
	pfree(large);
}

/* The flag counts, and no other bit. */
static void
test_flags(void **state)
{
	static const char *const sampled[] = {"01", "03", "ff", "0d"};
	static const char *const others[] = {"00", "02", "fe", "10"};

	config.traces.sample = 0;
	for (size_t i = 0; i < lengthof(sampled); i++)
	{
		char	   *context = psprintf("{\"traceparent\": \"" PARENT "-%s\"}", sampled[i]);
		Task	   *task = begin(context, (int) i % 2 + 1);

		assert_non_null(strstr(task->context, "-01\"}"));
		assert_true(end(task, COUNT_DONE));
		pfree(context);
	}
	config.traces.sample = 1;
	for (size_t i = 0; i < lengthof(others); i++)
	{
		char	   *context = psprintf("{\"traceparent\": \"" PARENT "-%s\"}", others[i]);
		Task	   *task = begin(context, (int) i % 2 + 1);

		assert_non_null(strstr(task->context, "-00\"}"));
		assert_false(end(task, COUNT_ERROR));
		config.traces.always_errors = 1;
		assert_true(end(begin(context, 1), COUNT_ERROR));
		assert_false(end(begin(context, 1), COUNT_DONE));
		config.traces.always_errors = 0;
		pfree(context);
	}
}

/* Between 1 and 9 % of 10,000 traces at a sample of 5 %, by the low half of their ids. */
static void
test_sample(void **state)
{
	int			nsampled = 0;

	config.traces.sample = 0.05;
	config.traces.always_errors = 1;
	for (int i = 0; i < 10000; i++)
	{
		Task	   *task = begin(NULL, 1);
		bool		is_sampled = strstr(task->context, "-01\"}") != NULL;
		char		low[17] = "";

		memcpy(low, strstr(task->context, "00-") + 3 + 16, 16);
		assert_int_equal((double) (strtoull(low, NULL, 16) & PG_INT64_MAX) < 0.05 * (double) PG_INT64_MAX, is_sampled);
		nsampled += is_sampled;
		assert_int_equal(end(task, COUNT_DONE), is_sampled);
	}
	assert_in_range(nsampled, 100, 900);
}

/* The spans of a line, as OTLP has them: the try, and its wait before it. */
static void
test_wait(void **state)
{
	Task	   *task = begin("{\"traceparent\": \"" PARENT "-01\"}", 1);
	char	   *both;
	json_t	   *list;
	const json_t *wait;

	task->taken_us = 1700;		/* a worker took it up */
	assert_true(end(task, COUNT_DONE));
	assert_int_equal(integer_of("end") - integer_of("start"), 2300);
	assert_int_equal(integer_of("waited"), 1200);
	both = psprintf("[%s]", otlp);
	list = json_loads(both, 0, NULL);
	assert_int_equal(json_array_size(list), 2);
	wait = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(wait, "spanId")), of_line("wait"));
	assert_string_equal(json_string_value(json_object_get(wait, "parentSpanId")), CALLER);
	assert_int_equal(json_integer_value(json_object_get(wait, "kind")), 1);
	assert_true(json_equal(json_object_get(wait, "endTimeUnixNano"), json_object_get(json_array_get(list, 1), "startTimeUnixNano")));
	assert_int_equal(atoll(json_string_value(json_object_get(wait, "endTimeUnixNano"))) -
					 atoll(json_string_value(json_object_get(wait, "startTimeUnixNano"))), 1200 * 1000);
	json_decref(list);
	pfree(both);

	/* below a try that begins its trace */
	assert_true(end(begin(NULL, 1), COUNT_DONE));
	both = psprintf("\"parentSpanId\":\"%s\"", of_line("span"));
	assert_non_null(strstr(otlp, both));
	pfree(both);

	/* not known, or never begun */
	task = begin(NULL, 1);
	task->waited_us = -1;
	assert_true(end(task, COUNT_DONE));
	assert_null(strstr(otlp, "wait PAY"));
	task = begin(NULL, 1);
	task->started_us = 0;
	assert_true(end(task, COUNT_ERROR));
	assert_null(strstr(otlp, "wait PAY"));
	assert_int_equal(integer_of("end"), integer_of("start"));
}

static void
test_results(void **state)
{
	static const struct
	{
		CountKind	kind;
		const char *word;
		bool		is_failure;
	}			results[] = {
		{COUNT_DONE, "done", false}, {COUNT_DELETE, "delete", false}, {COUNT_REPEAT, "repeat", false},
		{COUNT_ACCEPTED, "accepted", false}, {COUNT_CANCELLED, "cancelled", false},
		{COUNT_RETRY, "retry", true}, {COUNT_ERROR, "error", true}, {COUNT_FAILED, "failed", true}, {COUNT_REFUSED, "refused", true}
	};

	for (size_t i = 0; i < lengthof(results); i++)
	{
		assert_true(end(begin(NULL, 1), results[i].kind));
		assert_string_equal(of_line("result"), results[i].word);
		assert_int_equal(strstr(otlp, "error.type") != NULL, results[i].is_failure);
		assert_int_equal(strstr(otlp, "\"status\":{\"code\":2}") != NULL, results[i].is_failure);
	}
	assert_false(end(begin(NULL, 1), COUNT_RELEASED));
}

static void
test_off(void **state)
{
	Task	   *task;

	config.traces.url = NULL;
	task = begin("{}", 1);
	assert_null(task->span);
	assert_string_equal(task->context, "{}");
	assert_false(end(task, COUNT_ERROR));
	spans_free(spans);
	spans = NULL;
	task = begin("{}", 1);
	assert_null(task->span);
	assert_false(end(task, COUNT_ERROR));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_try, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_retry, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_malformed, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_untouched, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_flags, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_sample, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_wait, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_results, open_spans, free_spans),
		cmocka_unit_test_setup_teardown(test_off, open_spans, free_spans)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
