/*-------------------------------------------------------------------------
 *
 * test_api_cache.c
 *		Answers in memory: one computation however many ask, for how long, and in how
 *		much memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "web/api/api_cache.h"

#define FRESH_US SECONDS_TO_US(2)
#define LATE_US SECONDS_TO_US(3)

static const ApiRoute route = {.cache_us = FRESH_US, .late_us = LATE_US};

/* How a request was answered. */
struct HttpRequest
{
	int			answers;
	int			status;
	const char *text;
};

struct HttpShared
{
	int			refs;
	char	   *text;
};

static int	nshared;

HttpShared *
http_share(const char *bytes, size_t len)
{
	HttpShared *body = palloc(sizeof(HttpShared));

	body->refs = 1;
	body->text = pnstrdup(bytes, len);
	nshared++;
	return body;
}

void
http_unshare(HttpShared *body)
{
	if (--body->refs > 0)
		return;
	pfree(body->text);
	pfree(body);
	nshared--;
}

void
http_answer_shared(HttpRequest *request, const HttpAnswer *answer, HttpShared *body)
{
	static char last[100];

	strlcpy(last, body->text, sizeof(last));
	request->answers++;
	request->status = answer->status;
	request->text = last;
}

static ApiCache *cache;

static void
settle(ApiEntry *entry, const char *text)
{
	ApiAnswer  *answer = palloc0(sizeof(ApiAnswer));

	answer->status = 200;
	answer->body = http_share(text, strlen(text));
	api_cache_settle(entry, answer, (int64) strlen(text));
}

static void
fail_entry(ApiEntry *entry)
{
	api_cache_settle(entry, api_answer_problem(problem_of("too_much"), NULL, NULL), -1);
}

/* Asks; expects an answer from memory, and no computation. */
static void
expect_hit(const char *key, const char *text)
{
	HttpRequest request = {0};

	assert_null(api_cache_ask(cache, key, &route, &request));
	assert_int_equal(request.answers, 1);
	assert_string_equal(request.text, text);
}

/* Asks; expects that this request makes the caller compute, and returns the entry. */
static ApiEntry *
expect_miss(const char *key, HttpRequest *request)
{
	ApiEntry   *entry = api_cache_ask(cache, key, &route, request);

	assert_non_null(entry);
	assert_int_equal(request->answers, 0);
	return entry;
}

static int
set_up(void **state)
{
	loop_time = SECONDS_TO_US(1000);
	cache = api_cache_new(NULL);
	return 0;
}

static int
tear_down(void **state)
{
	api_cache_free(cache);
	assert_int_equal(nshared, 0);
	return 0;
}

static void
test_single_flight(void **state)
{
	HttpRequest requests[50] = {0};
	ApiEntry   *entry = expect_miss("a", &requests[0]);

	for (int i = 1; i < 50; i++)
		assert_null(api_cache_ask(cache, "a", &route, &requests[i]));
	settle(entry, "1");
	for (int i = 0; i < 50; i++)
		assert_int_equal(requests[i].answers, 1);
	assert_int_equal(api_cache_counts(cache).computed, 1);
	assert_int_equal(api_cache_counts(cache).joined, 49);
	expect_hit("a", "1");
	assert_int_equal(api_cache_counts(cache).hits, 1);
}

/* A stale answer is at hand while the next one is computed, once. */
static void
test_stale(void **state)
{
	HttpRequest first = {0};
	HttpRequest second = {0};
	ApiEntry   *entry = expect_miss("a", &first);

	settle(entry, "1");
	pass_us(FRESH_US);
	entry = api_cache_ask(cache, "a", &route, &second);
	assert_non_null(entry);
	assert_int_equal(second.answers, 1);
	expect_hit("a", "1");
	settle(entry, "2");
	assert_int_equal(second.answers, 1);
	expect_hit("a", "2");
}

static void
test_old(void **state)
{
	HttpRequest first = {0};
	HttpRequest second = {0};

	settle(expect_miss("a", &first), "1");
	pass_us(2 * FRESH_US);
	settle(expect_miss("a", &second), "2");
	assert_string_equal(second.text, "2");
}

/* A problem goes to those who wait, and does not take a stale answer away. */
static void
test_problems(void **state)
{
	HttpRequest requests[4] = {0};
	ApiEntry   *entry = expect_miss("a", &requests[0]);

	assert_null(api_cache_ask(cache, "a", &route, &requests[1]));
	fail_entry(entry);
	assert_int_equal(requests[0].answers + requests[1].answers, 2);
	assert_int_equal(api_cache_counts(cache).entries, 0);
	settle(expect_miss("a", &requests[2]), "1");
	pass_us(FRESH_US);
	entry = api_cache_ask(cache, "a", &route, &requests[3]);
	assert_non_null(entry);
	fail_entry(entry);
	entry = api_cache_ask(cache, "a", &route, &requests[3]);
	assert_non_null(entry);
	assert_int_equal(requests[3].answers, 2);
	settle(entry, "2");
}

/* Other parameters have other answers; all of them together are bounded. */
static void
test_bound(void **state)
{
	char	   *large = palloc(API_CACHE_BYTES / 4 + 1);
	char		key[10];

	memset(large, 'x', API_CACHE_BYTES / 4);
	large[API_CACHE_BYTES / 4] = '\0';
	for (int i = 0; i < 10; i++)
	{
		HttpRequest request = {0};

		snprintf(key, sizeof(key), "%d", i);
		settle(expect_miss(key, &request), large);
		assert_true(api_cache_counts(cache).bytes <= API_CACHE_BYTES);
	}
	assert_int_equal(api_cache_counts(cache).entries, 3);
	for (int i = 7; i < 10; i++)
	{
		HttpRequest request = {0};

		snprintf(key, sizeof(key), "%d", i);
		assert_null(api_cache_ask(cache, key, &route, &request));
	}
	pfree(large);
}

/* An answer that was under way goes to those who wait, and to nobody else. */
static void
test_forgotten(void **state)
{
	HttpRequest requests[5] = {0};
	ApiEntry   *entry;

	settle(expect_miss("overview viewer", &requests[0]), "one");
	settle(expect_miss("overviews viewer", &requests[1]), "other");
	api_cache_forget(cache, "overview");
	expect_hit("overviews viewer", "other");
	entry = expect_miss("overview viewer", &requests[2]);
	api_cache_forget(cache, "overview");
	settle(expect_miss("overview viewer", &requests[3]), "three");
	settle(entry, "two");
	assert_string_equal(requests[2].text, "two");
	expect_hit("overview viewer", "three");
	assert_int_equal(api_cache_counts(cache).entries, 2);
	entry = expect_miss("types viewer", &requests[4]);
	api_cache_forget(cache, "types");
	fail_entry(entry);
	assert_int_equal(api_cache_counts(cache).entries, 2);
	api_cache_forget(cache, NULL);
	assert_int_equal(api_cache_counts(cache).entries, 0);
}

/* A stale answer that was forgotten goes with the computation of the next one. */
static void
test_forgotten_stale(void **state)
{
	for (int fails = 0; fails < 2; fails++)
	{
		HttpRequest first = {0};
		HttpRequest second = {0};
		ApiEntry   *entry;

		settle(expect_miss("a", &first), "1");
		pass_us(FRESH_US);
		entry = api_cache_ask(cache, "a", &route, &second);
		assert_non_null(entry);
		assert_string_equal(second.text, "1");
		api_cache_forget(cache, NULL);
		api_cache_forget(cache, NULL);
		if (fails)
			fail_entry(entry);
		else
			settle(entry, "2");
		assert_int_equal(api_cache_counts(cache).bytes, 0);
	}
}

/* A computation that hangs is not hidden by the answer of before. */
static void
test_late(void **state)
{
	HttpRequest requests[5] = {0};
	ApiEntry   *entry;

	settle(expect_miss("a", &requests[0]), "1");
	pass_us(FRESH_US);
	entry = api_cache_ask(cache, "a", &route, &requests[1]);
	assert_non_null(entry);
	assert_string_equal(requests[1].text, "1");
	pass_us(FRESH_US);
	assert_null(api_cache_ask(cache, "a", &route, &requests[2]));
	assert_int_equal(requests[2].answers, 0);
	pass_us(LATE_US - FRESH_US);
	assert_int_equal(requests[2].status, 503);
	assert_null(api_cache_ask(cache, "a", &route, &requests[3]));
	assert_int_equal(requests[3].status, 503);
	settle(entry, "2");
	expect_hit("a", "2");
	pass_us(FRESH_US);
	entry = api_cache_ask(cache, "a", &route, &requests[4]);
	assert_non_null(entry);
	settle(entry, "3");
	pass_us(LATE_US);
	assert_int_equal(requests[2].answers + requests[3].answers + requests[4].answers, 3);
}

/* Computations go on when answers are dropped, and are late at their time. */
static void
test_drop_answers(void **state)
{
	HttpRequest requests[4] = {0};
	ApiEntry   *entry;

	settle(expect_miss("b", &requests[3]), "0");
	settle(expect_miss("a", &requests[0]), "1");
	pass_us(FRESH_US);
	entry = api_cache_ask(cache, "a", &route, &requests[1]);
	assert_non_null(entry);
	pass_us(LATE_US / 2);
	api_cache_drop_answers(cache);
	assert_int_equal(api_cache_counts(cache).entries, 1);
	assert_int_equal(api_cache_counts(cache).bytes, 0);
	assert_null(api_cache_ask(cache, "a", &route, &requests[2]));
	assert_int_equal(requests[2].answers, 0);
	pass_us(LATE_US - LATE_US / 2);
	assert_int_equal(requests[2].status, 503);
	fail_entry(entry);
	assert_int_equal(api_cache_counts(cache).entries, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_single_flight, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_problems, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgotten_stale, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drop_answers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
