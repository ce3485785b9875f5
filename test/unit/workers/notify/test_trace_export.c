/*-------------------------------------------------------------------------
 *
 * test_trace_export.c
 *		Each try is counted once, as sent or dropped, whatever the receiver does; and one
 *		request at a time goes to it.
 *
 * Takes the place of the sender: the test gives the answers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "fake_loop.h"
#include "workers/notify/notify_send.h"
#include "workers/notify/trace_export.h"

#define LINE "{\"trace\":\"0af7651916cd43dd8448eb211c80319c\",\"span\":\"b7ad6b7169203331\",\"wait\":\"b7ad6b7169203332\",\"parent\":\"\",\"link\":\"\"," \
	"\"task\":\"01a217e9-c5e2-7a28-a310-01d8fdf4b47e\",\"try\":1,\"waited\":-1,\"start\":1,\"end\":2,\"result\":\"done\",\"failed\":false,\"type\":\"PAY\"}"

static NotifyDone done;
static void *under_way;			/* the argument of the request; NULL: none */
static int	nrequests;
static int	nspans;				/* in the last request */
static bool is_short;			/* no request can be made */
static bool has_left;

NotifySender *
notify_sender_new(Loop *loop, NotifyDone fn)
{
	done = fn;
	return NULL;
}

bool
notify_was_sent(const NotifyAnswer *answer)
{
	return answer->status >= 200 && answer->status < 300;
}

bool
notify_send(NotifySender *sender, const NotifyRequest *request, void *arg)
{
	json_t	   *body = json_loads(request->body, 0, NULL);
	const json_t *resource = json_array_get(json_object_get(body, "resourceSpans"), 0);

	if (is_short)
	{
		json_decref(body);
		return false;
	}
	assert_null(under_way);
	assert_string_equal(request->url, "http://receiver/v1/traces");
	nspans = (int) json_array_size(json_object_get(json_array_get(json_object_get(resource, "scopeSpans"), 0), "spans"));
	json_decref(body);
	nrequests++;
	under_way = arg;
	return true;
}

static void
answer_with(NotifyAnswer answer)
{
	void	   *arg = under_way;

	assert_non_null(arg);
	under_way = NULL;
	if (answer.body == NULL)
		answer.body = "";
	done(arg, &answer);
}

static void
answer(long status)
{
	NotifyAnswer plain = {.status = status, .text = "HTTP"};

	answer_with(plain);
}

/* ---- the fixture ---- */

static TraceSettings settings;
static StringInfoData out;
static TraceExport *export;

static int
open_export(void **state)
{
	static char url[] = "http://receiver/v1/traces";
	static char node[] = "a";

	settings = (TraceSettings)
	{
		.url = url, .service = node, .node = node,.log.level = TWT_LOG_FATAL
	};
	initStringInfo(&out);
	export = trace_export_new(NULL, &out, &settings);
	under_way = NULL;
	nrequests = nspans = 0;
	is_short = has_left = false;
	return 0;
}

static int
free_told(void **state)
{
	pfree(out.data);
	return 0;
}

static void
take(int n)
{
	for (int i = 0; i < n; i++)
		trace_export_take(export, LINE, strlen(LINE));
}

/* The sum of a member of all lines that the sidecar got. */
static int64
told(const char *name)
{
	int64		sum = 0;

	pass_us(SECONDS_TO_US(1));
	for (const char *line = out.data; *line != '\0'; line += strcspn(line, "\n") + 1)
	{
		json_t	   *object = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);

		assert_non_null(object);
		sum += json_integer_value(json_object_get(object, name));
		json_decref(object);
	}
	return sum;
}

static void
expect_told(int64 nsent, int64 ndropped)
{
	assert_int_equal(told("sent"), nsent);
	assert_int_equal(told("dropped"), ndropped);
}

static void
on_left(void *arg)
{
	has_left = true;
}

/* ---- the tests ---- */

static void
test_batches(void **state)
{
	take(3);
	assert_int_equal(nrequests, 0);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(nspans, 3);

	/* a full batch goes when the one before it is answered */
	take(2 * TRACE_BATCH_MAX + 1);
	assert_int_equal(nrequests, 1);
	answer(200);
	assert_int_equal(nspans, TRACE_BATCH_MAX);
	answer(200);
	assert_int_equal(nspans, TRACE_BATCH_MAX);
	answer(202);
	assert_int_equal(nrequests, 3);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(nspans, 1);
	answer(200);
	expect_told(2 * TRACE_BATCH_MAX + 4, 0);

	/* a line that is no span */
	trace_export_take(export, "{\"alive\":1}", 11);
	pass_us(SECONDS_TO_US(2));
	assert_int_equal(nrequests, 4);
	expect_told(2 * TRACE_BATCH_MAX + 4, 0);
}

static void
test_again(void **state)
{
	static const long statuses[] = {0, 429, 502, 503, 504};
	NotifyAnswer later = {.status = 429, .text = "HTTP", .again_us = SECONDS_TO_US(20)};

	take(1);
	pass_us(SECONDS_TO_US(1));
	for (size_t i = 0; i < lengthof(statuses); i++)
	{
		answer(statuses[i]);
		assert_null(under_way);
		pass_us(SECONDS_TO_US(31));
		assert_int_equal(nspans, 1);
	}
	answer_with(later);
	pass_us(SECONDS_TO_US(19));
	assert_null(under_way);
	pass_us(SECONDS_TO_US(1));
	answer(200);
	expect_told(1, 0);
}

static void
test_gives_up(void **state)
{
	take(2);
	pass_us(SECONDS_TO_US(1));
	for (int i = 0; i < 100 && under_way != NULL; i++)
	{
		answer(503);
		pass_us(SECONDS_TO_US(30));
	}
	assert_null(under_way);
	assert_in_range(nrequests, 11, 40);
	expect_told(0, 2);

	/* the next batch has its own time */
	take(1);
	pass_us(SECONDS_TO_US(1));
	answer(0);
	pass_us(SECONDS_TO_US(30));
	answer(200);
	expect_told(1, 2);
}

static void
test_refused(void **state)
{
	static const long statuses[] = {301, 400, 401, 404, 413, 500};

	for (size_t i = 0; i < lengthof(statuses); i++)
	{
		take(1);
		pass_us(SECONDS_TO_US(1));
		answer(statuses[i]);
	}
	pass_us(SECONDS_TO_US(60));
	assert_int_equal(nrequests, lengthof(statuses));
	expect_told(0, lengthof(statuses));
	assert_non_null(strstr(out.data, "\"trouble\":\"HTTP\""));
	is_short = true;
	take(1);
	expect_told(0, lengthof(statuses) + 1);
}

static void
test_partial_success(void **state)
{
	static const char *const bodies[] = {
		"{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"too old\"}}",
		"{\"partialSuccess\":{\"rejectedSpans\":2}}",
		"{\"partialSuccess\":{\"errorMessage\":\"a warning\"}}",
		"{\"partialSuccess\":{}}", "{}", "[", "{\"partialSuccess\":{\"rejectedSpans\":\"-1\"}}",
		"{\"partialSuccess\":{\"rejectedSpans\":\"9223372036854775807\"}}"
	};

	for (size_t i = 0; i < lengthof(bodies); i++)
	{
		NotifyAnswer partial = {.status = 200, .text = "HTTP 200", .body = bodies[i]};

		take(3);
		pass_us(SECONDS_TO_US(1));
		answer_with(partial);
		assert_null(under_way);
	}
	expect_told(1 + 1 + 5 * 3, 2 + 2 + 3);
}

static void
test_full(void **state)
{
	take(TRACE_WAITING_MAX + 7);
	assert_int_equal(nspans, TRACE_BATCH_MAX);
	expect_told(0, 7);
	while (under_way != NULL)
	{
		answer(200);
		pass_us(SECONDS_TO_US(1));
	}
	expect_told(TRACE_WAITING_MAX, 7);

	/* the ring goes round */
	take(TRACE_WAITING_MAX + 1);
	while (under_way != NULL)
	{
		answer(200);
		pass_us(SECONDS_TO_US(1));
	}
	expect_told(2 * TRACE_WAITING_MAX, 8);
}

static void
test_leaves(void **state)
{
	take(TRACE_BATCH_MAX + 1);
	trace_export_leave(export, on_left, NULL);
	assert_false(has_left);
	answer(503);				/* is not asked again */
	assert_int_equal(nspans, 1);
	answer(200);
	assert_true(has_left);
	expect_told(1, TRACE_BATCH_MAX);
}

static void
test_leaves_while_it_waits(void **state)
{
	take(1);
	pass_us(SECONDS_TO_US(1));
	answer(503);
	trace_export_leave(export, on_left, NULL);
	answer(200);
	assert_true(has_left);
	expect_told(1, 0);
}

static void
test_leaves_with_nothing(void **state)
{
	trace_export_leave(export, on_left, NULL);
	assert_true(has_left);
	assert_int_equal(nrequests, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_batches, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_again, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_gives_up, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_refused, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_partial_success, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_full, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_leaves, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_leaves_while_it_waits, open_export, free_told),
		cmocka_unit_test_setup_teardown(test_leaves_with_nothing, open_export, free_told)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
