/*-------------------------------------------------------------------------
 *
 * test_api_stream.c
 *		Streams of changes: one look for all, what is told, and answers in memory that
 *		are forgotten before.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "web/api/api_stream.h"
#include "web/http_stream.h"

#define ONE "00000000-0000-4000-8000-000000000001"
#define TWO "00000000-0000-4000-8000-000000000002"

struct HttpRequest
{
	int			answers;
	StringInfoData told;
	bool		is_closed;
};

struct HttpStream
{
	HttpRequest *request;
	HttpStreamClosed closed;	/* NULL: its owner has closed it */
	void	   *arg;
};

struct HttpShared
{
	int			refs;
};

static const ApiRoute route = {.cache_us = SECONDS_TO_US(20)};

static ApiCache *cache;
static ApiStreams *streams;
static int	nlooks;
static char *asked;
static char *left_out;			/* ids that the history is not read for */
static bool has_overview;		/* in memory, when the last event was sent */
static HttpStream opened[20];
static int	nopened;

HttpShared *
http_share(const char *bytes, size_t len)
{
	HttpShared *body = palloc(sizeof(HttpShared));

	body->refs = 1;
	return body;
}

void
http_unshare(HttpShared *body)
{
	if (--body->refs == 0)
		pfree(body);
}

void
http_answer_shared(HttpRequest *request, const HttpAnswer *answer, HttpShared *body)
{
	request->answers++;
}

HttpStream *
http_stream_open(HttpRequest *request, HttpStreamClosed closed, void *arg)
{
	initStringInfo(&request->told);
	opened[nopened] = (HttpStream)
	{
		request, closed, arg
	};
	return &opened[nopened++];
}

void
http_stream_send(HttpStream *stream, const char *event, const char *data)
{
	appendStringInfo(&stream->request->told, "%s %s;", event, data);
	has_overview = api_cache_counts(cache).entries > 0;
}

void
http_stream_close(HttpStream *stream)
{
	stream->request->is_closed = true;
	stream->closed = NULL;
}

/* While the requests of a test are still there. */
static void
end_streams(void)
{
	for (; nopened > 0; nopened--)
	{
		HttpStream *stream = &opened[nopened - 1];

		if (stream->closed != NULL)
			stream->closed(stream->arg);
		pfree(stream->request->told.data);
	}
}

static void
on_look(void *arg, const char *ids, const char *ended)
{
	nlooks++;
	pfree(asked);
	pfree(left_out);
	asked = pstrdup(ids);
	left_out = pstrdup(ended);
}

typedef struct Row
{
	const char *name;
	const char *state;			/* NULL: there is no row */
	const char *place;
} Row;

static void
take_rows(const Row *rows, int nrows)
{
	PGresAttDesc columns[] = {{.name = "name"}, {.name = "state"}, {.name = "place"}};
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	int			n = 0;

	assert_true(PQsetResultAttrs(result, lengthof(columns), columns));
	for (int i = 0; i < nrows; i++)
	{
		const char *values[] = {rows[i].name, rows[i].state, rows[i].place};

		for (int column = 0; rows[i].state != NULL && column < 3; column++)
			assert_true(PQsetvalue(result, n, column, unconstify(char *, values[column]), (int) strlen(values[column])));
		n += rows[i].state != NULL;
	}
	api_streams_take(streams, result);
	PQclear(result);
}

/* The answer to a look: states of the first page and of both tasks, which live. */
static void
take(const char *overview, const char *one, const char *two)
{
	Row			rows[] = {{"overview", overview, ""}, {ONE, one, "live"}, {TWO, two, "live"}};

	take_rows(rows, lengthof(rows));
}

/* The same, of two tasks that are in the history; NULL: no row. */
static void
take_ended(const char *one, const char *two)
{
	Row			rows[] = {{"overview", "a", ""}, {ONE, one, "history"}, {TWO, two, "history"}};

	take_rows(rows, lengthof(rows));
}

static void
remember_overview(void)
{
	HttpRequest request = {0};
	ApiAnswer  *answer = palloc0(sizeof(ApiAnswer));
	ApiEntry   *entry = api_cache_ask(cache, "overview viewer", &route, &request);

	assert_non_null(entry);
	answer->body = http_share("", 0);
	api_cache_settle(entry, answer, 0);
}

static void
expect_told(HttpRequest *request, const char *told)
{
	assert_string_equal(request->told.data, told);
	resetStringInfo(&request->told);
}

static int
set_up(void **state)
{
	loop_time = SECONDS_TO_US(1000);
	nlooks = 0;
	asked = pstrdup("");
	left_out = pstrdup("");
	cache = api_cache_new(NULL);
	streams = api_streams_new(NULL, cache, on_look, NULL);
	return 0;
}

static void
fail_look(void)
{
	ApiAnswer  *problem = api_answer_problem(problem_of("unavailable"), NULL, NULL);

	api_streams_fail(streams, problem);
	api_answer_free(problem);
}

static int
tear_down(void **state)
{
	assert_int_equal(api_streams_count(streams), 0);
	api_streams_free(streams);
	api_cache_free(cache);
	pfree(asked);
	pfree(left_out);
	return 0;
}

static void
test_told(void **state)
{
	HttpRequest first = {0};
	HttpRequest second = {0};

	api_streams_open(streams, &first, "vera", "{" ONE "," TWO "}");
	api_streams_open(streams, &second, "otto", NULL);
	pass_us(0);
	assert_int_equal(nlooks, 1);
	assert_string_equal(asked, "{" ONE "," TWO "}");
	take("a", "0", "0");
	expect_told(&first, "overview changed;task " ONE ";task " TWO ";");
	expect_told(&second, "overview changed;");
	pass_us(API_STREAM_LOOK_US);
	take("a", "0", "1");
	expect_told(&first, "task " TWO ";");
	expect_told(&second, "");
	pass_us(API_STREAM_LOOK_US);
	assert_int_equal(nlooks, 3);
	take("a", "0", "1");
	expect_told(&first, "");
	end_streams();
}

/* An answer that is older than the change must not meet a client that was told. */
static void
test_forgets_first(void **state)
{
	HttpRequest request = {0};

	api_streams_open(streams, &request, "vera", "{" ONE "}");
	pass_us(0);
	take("a", "0", "0");
	remember_overview();
	pass_us(API_STREAM_LOOK_US);
	take("a", "1", "0");
	expect_told(&request, "overview changed;task " ONE ";task " ONE ";");
	assert_true(has_overview);
	pass_us(API_STREAM_LOOK_US);
	take("b", "1", "0");
	expect_told(&request, "overview changed;");
	assert_false(has_overview);
	end_streams();
}

/* A look that began before the stream does not know its tasks. */
static void
test_begins_during_look(void **state)
{
	HttpRequest early = {0};
	HttpRequest late = {0};

	api_streams_open(streams, &early, "vera", NULL);
	pass_us(0);
	api_streams_open(streams, &late, "vera", "{" ONE "}");
	take("a", "0", "0");
	expect_told(&early, "overview changed;");
	assert_null(late.told.data);
	pass_us(API_STREAM_LOOK_US);
	take("a", "0", "0");
	expect_told(&late, "overview changed;task " ONE ";");
	end_streams();
}

static void
test_bounds(void **state)
{
	HttpRequest requests[API_STREAMS_OF_ONE + 1] = {0};

	for (int i = 0; i < API_STREAMS_OF_ONE; i++)
		api_streams_open(streams, &requests[i], "vera", NULL);
	assert_int_equal(requests[0].answers, 0);
	api_streams_open(streams, &requests[API_STREAMS_OF_ONE], "vera", NULL);
	assert_int_equal(requests[0].answers, 1);
	assert_int_equal(api_streams_count(streams), API_STREAMS_OF_ONE);
	pass_us(0);
	take("a", "0", "0");
	assert_int_equal(nlooks, 1);
	assert_false(requests[1].is_closed);
	end_streams();
}

/* A failure is told once; the looks go on, and the next one tells all names. */
static void
test_down(void **state)
{
	HttpRequest request = {0};
	HttpRequest other = {0};

	api_streams_open(streams, &request, "vera", "{" ONE "}");
	pass_us(0);
	take("a", "0", "0");
	expect_told(&request, "overview changed;task " ONE ";");
	remember_overview();
	pass_us(API_STREAM_LOOK_US);
	fail_look();
	expect_told(&request, "down unavailable;");
	assert_false(has_overview);
	api_streams_open(streams, &other, "otto", NULL);
	pass_us(API_STREAM_LOOK_US);
	assert_int_equal(nlooks, 3);
	fail_look();
	assert_int_equal(other.answers, 1);
	expect_told(&request, "");
	pass_us(API_STREAM_LOOK_US);
	assert_int_equal(nlooks, 4);
	take("a", "0", "0");
	expect_told(&request, "overview changed;task " ONE ";");
	assert_false(request.is_closed);
	end_streams();
}

/* The history is read for tasks that were live or that no look knows, and at times for all. */
static void
test_ended(void **state)
{
	HttpRequest request = {0};

	api_streams_open(streams, &request, "vera", "{" ONE "," TWO "}");
	pass_us(0);
	assert_string_equal(left_out, "{}");
	take("a", "0", "0");
	expect_told(&request, "overview changed;task " ONE ";task " TWO ";");
	pass_us(API_STREAM_LOOK_US);
	assert_string_equal(left_out, "{}");
	take_ended("1", NULL);
	expect_told(&request, "task " ONE ";task " TWO ";");
	for (int i = 2; i < API_STREAM_FULL_US / API_STREAM_LOOK_US; i++)
	{
		pass_us(API_STREAM_LOOK_US);
		assert_string_equal(asked, "{" ONE "," TWO "}");
		assert_string_equal(left_out, "{" ONE "," TWO "}");
		take_ended(NULL, NULL);
		expect_told(&request, "");
	}
	/* All of them: the first one is gone, the second one has ended meanwhile. */
	pass_us(API_STREAM_LOOK_US);
	assert_string_equal(left_out, "{}");
	take_ended(NULL, "4");
	expect_told(&request, "task " ONE ";task " TWO ";");
	/* It was reopened, so its end will be news. */
	pass_us(API_STREAM_LOOK_US);
	take("a", "5", "5");
	expect_told(&request, "task " ONE ";task " TWO ";");
	pass_us(API_STREAM_LOOK_US);
	assert_string_equal(left_out, "{}");
	take_ended("6", "6");
	expect_told(&request, "task " ONE ";task " TWO ";");
	/* After a failure nothing is known. */
	pass_us(API_STREAM_LOOK_US);
	fail_look();
	expect_told(&request, "down unavailable;");
	pass_us(API_STREAM_LOOK_US);
	assert_string_equal(left_out, "{}");
	take_ended("6", "6");
	expect_told(&request, "overview changed;task " ONE ";task " TWO ";");
	end_streams();
}

/* A look that gets no answer is told before it ends, also to those who come then. */
static void
test_late(void **state)
{
	HttpRequest request = {0};
	HttpRequest early = {0};
	HttpRequest late = {0};

	api_streams_open(streams, &request, "vera", NULL);
	pass_us(0);
	take("a", "0", "0");
	expect_told(&request, "overview changed;");
	pass_us(API_STREAM_LOOK_US);
	api_streams_open(streams, &early, "otto", NULL);
	pass_us(API_LATE_US - 1);
	expect_told(&request, "");
	pass_us(1);
	expect_told(&request, "down unavailable;");
	assert_int_equal(early.answers, 1);
	api_streams_open(streams, &late, "otto", NULL);
	assert_int_equal(late.answers, 1);
	pass_us(API_LATE_US);
	assert_int_equal(nlooks, 2);
	take("a", "0", "0");
	expect_told(&request, "overview changed;");
	pass_us(API_STREAM_LOOK_US - 1);
	take("a", "0", "0");
	end_streams();
	pass_us(API_LATE_US);
	late.answers = 0;
	api_streams_open(streams, &late, "otto", NULL);
	pass_us(0);
	assert_int_equal(late.answers, 0);
	take("a", "0", "0");
	expect_told(&late, "overview changed;");
	end_streams();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgets_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_begins_during_look, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_down, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
