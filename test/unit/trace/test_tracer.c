/*-------------------------------------------------------------------------
 *
 * test_tracer.c
 *		Tries that wait for the helper reach it together, and at a stop the helper ends
 *		after it has all lines.
 *
 * Takes the place of the helper and of the spans.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "helper/helper.h"
#include "trace/tracer.h"

static char url[] = "http://receiver";
static char hello[] = "{\"hello\":1}";
static char headers_file[] = "/etc/headers";

static const HelperProgram *program;
static void *program_arg;
static SpanSink sink;
static void *sink_arg;
static bool is_ready;
static bool has_input;
static bool has_ended;
static int	nlines;				/* that the helper has */
static int	npieces;
static int	nrenewed;

/* ---- the helper ---- */

Helper *
helper_new(Loop *loop, const HelperProgram *given, void *arg)
{
	program = given;
	program_arg = arg;
	is_ready = has_input = has_ended = false;
	nlines = npieces = nrenewed = 0;
	return NULL;
}

void
helper_free(Helper *helper)
{
}

void
helper_run(Helper *helper, const char *line)
{
	assert_string_equal(line, hello);
}

void
helper_renew(Helper *helper)
{
	nrenewed++;
}

void
helper_end(Helper *helper, const char *why)
{
	has_ended = true;
}

bool
helper_is_ready(const Helper *helper)
{
	return is_ready;
}

bool
helper_is_down(const Helper *helper)
{
	return has_ended;
}

bool
helper_has_input(const Helper *helper)
{
	return has_input;
}

/* Its input is full after one piece. */
bool
helper_send(Helper *helper, const char *line, size_t len)
{
	if (npieces > 0)
		return false;
	npieces++;
	nlines++;
	assert_int_not_equal(line[len - 1], '\n');
	for (size_t i = 0; i < len; i++)
		nlines += line[i] == '\n';
	return true;
}

void
helper_add_trouble(const Helper *helper, json_t *list)
{
}

/* ---- the spans ---- */

Spans *
spans_open(const Config *config)
{
	return NULL;
}

void
spans_free(Spans *spans)
{
}

void
spans_on_end(Spans *spans, SpanSink fn, void *arg)
{
	sink = fn;
	sink_arg = arg;
}

void
spans_reload(Spans *spans, const Config *config)
{
}

/* ---- steps ---- */

static Tracer *
open_tracer(Config *config)
{
	config->traces.url = url;
	config->traces.line = hello;
	return tracer_open(NULL, config);
}

static void
end_tries(int n)
{
	for (int i = 0; i < n; i++)
		sink(sink_arg, "{\"trace\":1}", strlen("{\"trace\":1}"));
}

static void
expect_counter(const Tracer *tracer, const char *line)
{
	StringInfoData out;

	initStringInfo(&out);
	tracer_write(tracer, &out);
	assert_non_null(strstr(out.data, line));
	pfree(out.data);
}

/* ---- tests ---- */

static void
test_waiting_tries_go_together(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	end_tries(10001);
	is_ready = true;
	program->on_ready(program_arg);
	assert_int_equal(nlines, 10000);
	expect_counter(tracer, "{result=\"dropped\"} 1\n");
	program->on_line(program_arg, "{\"sent\":10000}", strlen("{\"sent\":10000}"));
	program->on_gone(program_arg);
	expect_counter(tracer, "{result=\"sent\"} 10000\n");
	expect_counter(tracer, "{result=\"dropped\"} 1\n");
	tracer_free(tracer);
}

static void
test_none_waits(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	program->on_ready(program_arg);
	assert_int_equal(npieces, 0);
	expect_counter(tracer, "{result=\"dropped\"} 0\n");
	tracer_free(tracer);
}

static void
test_full_helper_drops(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	end_tries(3);
	npieces = 1;
	program->on_ready(program_arg);
	program->on_ready(program_arg);
	expect_counter(tracer, "{result=\"dropped\"} 3\n");
	tracer_free(tracer);
}

static void
test_ends_after_its_lines(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	has_input = true;
	assert_false(tracer_end(tracer));
	assert_false(has_ended);
	has_input = false;
	assert_true(tracer_end(tracer));
	assert_true(has_ended);
	tracer_free(tracer);
}

/* At a stop, and when a reload ends the traces. */
static void
test_end_drops_waiting(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	end_tries(2);
	assert_true(tracer_end(tracer));
	assert_true(tracer_end(tracer));
	expect_counter(tracer, "{result=\"dropped\"} 2\n");
	tracer_free(tracer);

	tracer = open_tracer(&config);
	end_tries(3);
	config.traces.line = NULL;
	tracer_reload(tracer, &config);
	expect_counter(tracer, "{result=\"dropped\"} 3\n");
	tracer_free(tracer);
}

/* The file may have another secret; otherwise the process stays. */
static void
test_reload_renews_for_the_file_only(void **state)
{
	Config		config = {0};
	Tracer	   *tracer = open_tracer(&config);

	tracer_reload(tracer, &config);
	assert_int_equal(nrenewed, 0);
	config.traces.headers_file = headers_file;
	tracer_reload(tracer, &config);
	assert_int_equal(nrenewed, 1);
	tracer_free(tracer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_tries_go_together),
		cmocka_unit_test(test_none_waits),
		cmocka_unit_test(test_full_helper_drops),
		cmocka_unit_test(test_ends_after_its_lines),
		cmocka_unit_test(test_end_drops_waiting),
		cmocka_unit_test(test_reload_renews_for_the_file_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
