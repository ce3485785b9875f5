/*-------------------------------------------------------------------------
 *
 * test_metrics.c
 *		Counters of types: bounds, histograms, text for Prometheus, rows of flow.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "metrics/metrics.h"
#include "metrics/metrics_text.h"

static char *const handlers[] = {"handler=\"A\"", "handler=\"B|*\""};

static char *
text_of(const Metrics *metrics)
{
	StringInfoData text;

	initStringInfo(&text);
	metrics_write(metrics, &text, handlers, lengthof(handlers));
	return text.data;
}

/* The value behind the sample, which begins a line; -1: there is none. */
static double
value_of(const char *text, const char *sample)
{
	char	   *line = psprintf("\n%s ", sample);
	const char *found = strstr(text, line);
	double		value = found == NULL ? -1 : atof(found + strlen(line));

	pfree(line);
	return value;
}

static double
value_in(const Metrics *metrics, const char *sample)
{
	char	   *text = text_of(metrics);
	double		value = value_of(text, sample);

	pfree(text);
	return value;
}

/* ---- types ---- */

static void
types_have_counters_of_their_own(void **state)
{
	Metrics    *metrics = metrics_open(10, 10, 2);
	TypeCounts *a = metrics_of(metrics, "default", "A");

	assert_ptr_equal(metrics_of(metrics, "default", "A"), a);
	assert_ptr_not_equal(metrics_of(metrics, "other", "A"), a);
	assert_ptr_not_equal(metrics_of(metrics, "default", "B"), a);
	metrics_count(a, COUNT_GRABS);
	metrics_count(metrics_of(metrics, "default", "A"), COUNT_GRABS);
	metrics_ended(a, TASK_DONE, NULL);
	assert_int_equal(value_in(metrics, "twtasks_grabs_total{bucket=\"default\",type=\"A\"}"), 2);
	assert_int_equal(value_in(metrics, "twtasks_grabs_total{bucket=\"other\",type=\"A\"}"), 0);
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"default\",type=\"A\",result=\"done\"}"), 1);
	metrics_free(metrics);
}

static void
later_types_are_others_of_their_bucket(void **state)
{
	Metrics    *metrics = metrics_open(200, 100, 2);
	char		type[32];

	for (int i = 0; i < 10000; i++)
	{
		snprintf(type, sizeof(type), "TYPE_%d", i);
		metrics_count(metrics_of(metrics, i % 2 == 0 ? "even" : "odd", type), COUNT_DONE);
	}
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"odd\",type=\"TYPE_199\",result=\"done\"}"), 1);
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"even\",type=\"TYPE_200\",result=\"done\"}"), -1);
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"even\",type=\"(other)\",result=\"done\"}"), 4900);
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"odd\",type=\"(other)\",result=\"done\"}"), 4900);
	metrics_count(metrics_of(metrics, "even", "TYPE_0"), COUNT_DONE);
	assert_int_equal(value_in(metrics, "twtasks_tasks_ended_total{bucket=\"even\",type=\"TYPE_0\",result=\"done\"}"), 2);
	metrics_free(metrics);
}

static void
a_scrape_of_many_types_is_small(void **state)
{
	Metrics    *metrics = metrics_open(200, 100, 2);
	char		type[64];
	char	   *text;

	for (int i = 0; i < 10000; i++)
	{
		snprintf(type, sizeof(type), "PAYMENTS.OUTGOING|CUSTOMER_%d", i);
		metrics_time(metrics_of(metrics, "default", type), TIME_RUN, 1000 * i);
	}
	text = text_of(metrics);
	print_message("%zu bytes\n", strlen(text));
	assert_true(strlen(text) < 1024 * 1024);
	pfree(text);
	metrics_free(metrics);
}

static void
labels_are_escaped(void **state)
{
	char	   *label = prometheus_label("type", "a\"b\\c\nd");

	assert_string_equal(label, "type=\"a\\\"b\\\\c\\nd\"");
	pfree(label);
}

/* ---- ends ---- */

static void
the_next_status_tells_what_became_of_a_failure(void **state)
{
	static const struct
	{
		TaskResult	result;
		const char *status;
		const char *counted;
	}			cases[] = {
		{TASK_DONE, "", "done"}, {TASK_DELETE, "", "delete"}, {TASK_RETRY, "WAITING", "retry"},
		{TASK_RETRY, "ERROR", "error"}, {TASK_RETRY, "FAILED", "failed"}, {TASK_ERROR, "ERROR", "error"},
		{TASK_ERROR, "WAITING", "retry"}, {TASK_REPEAT, "SUBMITTED", "repeat"},
		{TASK_CANCELLED, "CANCELLED", "cancelled"}, {TASK_RETRY, "CANCELLED", "cancelled"},
		{TASK_ACCEPTED, "PROCESSING", "accepted"}, {TASK_RELEASE, "SUBMITTED", "released"},
		{TASK_RETRY, NULL, "retry"}, {TASK_FAILURE, NULL, "retry"}
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		Metrics    *metrics = metrics_open(1, 1, 2);
		char	   *sample = psprintf("twtasks_tasks_ended_total{bucket=\"b\",type=\"A\",result=\"%s\"}", cases[i].counted);

		metrics_ended(metrics_of(metrics, "b", "A"), cases[i].result, cases[i].status);
		assert_int_equal(value_in(metrics, sample), 1);
		pfree(sample);
		metrics_free(metrics);
	}
}

/* ---- histograms ---- */

/* The first bound that is not below the time, by looking at each. */
static int
expected_bucket(int64 us)
{
	int			i = 0;

	while (i < HISTOGRAM_BOUNDS && us > histogram_bound_us(i))
		i++;
	return i;
}

static void
check_time(int64 us)
{
	Metrics    *metrics = metrics_open(1, 1, 2);
	TypeFigures figures;

	metrics_time(metrics_of(metrics, "b", "A"), TIME_WAIT, us);
	assert_true(metrics_figures(metrics, 0, &figures));
	assert_int_equal(figures.times[TIME_WAIT].counts[expected_bucket(Max(us, 0))], 1);
	assert_int_equal(figures.times[TIME_WAIT].sum_us, Max(us, 0));
	metrics_free(metrics);
}

static void
times_go_to_the_bucket_of_their_bound(void **state)
{
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++)
		for (int64 us = histogram_bound_us(i) - 1; us <= histogram_bound_us(i) + 1; us++)
			check_time(us);
	for (int bits = 0; bits < 40; bits++)
		for (int64 us = ((int64) 1 << bits) - 1; us <= ((int64) 1 << bits) + 1; us++)
			check_time(us);
	check_time(-5);
}

static void
histograms_are_cumulative(void **state)
{
	Metrics    *metrics = metrics_open(1, 1, 2);
	TypeCounts *a = metrics_of(metrics, "b", "A");
	char	   *text;

	metrics_time(a, TIME_RUN, 250);
	metrics_time(a, TIME_RUN, 251);
	metrics_time(a, TIME_RUN, 1500000);
	metrics_time(a, TIME_RUN, SECONDS_TO_US(4000));
	text = text_of(metrics);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"0.00025\"}"), 1);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"0.0005\"}"), 2);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"1\"}"), 2);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"2.5\"}"), 3);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"3600\"}"), 3);
	assert_int_equal(value_of(text, "twtasks_run_seconds_bucket{bucket=\"b\",type=\"A\",le=\"+Inf\"}"), 4);
	assert_int_equal(value_of(text, "twtasks_run_seconds_count{bucket=\"b\",type=\"A\"}"), 4);
	assert_non_null(strstr(text, "\ntwtasks_run_seconds_sum{bucket=\"b\",type=\"A\"} 4001.500501\n"));
	pfree(text);
	metrics_free(metrics);
}

static void
types_without_a_histogram_share_one(void **state)
{
	Metrics    *metrics = metrics_open(10, 1, 2);

	metrics_time(metrics_of(metrics, "b", "A"), TIME_RUN, 1);
	metrics_time(metrics_of(metrics, "b", "B"), TIME_RUN, 1);
	metrics_time(metrics_of(metrics, "b", "C"), TIME_RUN, 1);
	assert_int_equal(value_in(metrics, "twtasks_run_seconds_count{bucket=\"b\",type=\"A\"}"), 1);
	assert_int_equal(value_in(metrics, "twtasks_run_seconds_count{bucket=\"b\",type=\"B\"}"), -1);
	assert_int_equal(value_in(metrics, "twtasks_run_seconds_count{bucket=\"b\",type=\"(other)\"}"), 2);
	metrics_free(metrics);
}

/* ---- others ---- */

static void
other_figures_are_counted(void **state)
{
	Metrics    *metrics = metrics_open(1, 1, 2);

	metrics_statement(metrics, STATEMENT_GRAB, 1000);
	metrics_handler(metrics, 1, HANDLER_RESTARTS);
	metrics_handler(metrics, 0, HANDLER_PROTOCOL_ERRORS);
	metrics_handler(metrics, 2, HANDLER_RESTARTS);
	metrics_unknown(metrics, STUCK_RETRY, 3);
	assert_int_equal(value_in(metrics, "twtasks_grab_seconds_count"), 1);
	assert_int_equal(value_in(metrics, "twtasks_grab_seconds_bucket{le=\"0.001\"}"), 1);
	assert_int_equal(value_in(metrics, "twtasks_worker_restarts_total{handler=\"B|*\"}"), 1);
	assert_int_equal(value_in(metrics, "twtasks_worker_protocol_errors_total{handler=\"A\"}"), 1);
	assert_int_equal(value_in(metrics, "twtasks_unknown_outcomes_total{rule=\"retry\"}"), 3);
	metrics_free(metrics);
}

static void
nobody_counts_without_metrics(void **state)
{
	assert_null(metrics_of(NULL, "b", "A"));
	metrics_count(NULL, COUNT_DONE);
	metrics_time(NULL, TIME_RUN, 1);
	metrics_statement(NULL, STATEMENT_GRAB, 1);
	metrics_handler(NULL, 0, HANDLER_RESTARTS);
	metrics_unknown(NULL, STUCK_RETRY, 1);
}

/* ---- rows of flow ---- */

static char rows[256];

static void
keep_row(void *arg, const FlowRow *row)
{
	snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s " INT64_FORMAT " " INT64_FORMAT "; ",
			 row->type, row->counts[COUNT_DONE], row->runs == NULL ? -1 : row->runs[0]);
}

static const char *
rows_of(const Metrics *metrics)
{
	rows[0] = '\0';
	(void) metrics_flow_rows(metrics, keep_row, NULL);
	return rows;
}

static void
rows_have_what_came_since_the_last_ones(void **state)
{
	Metrics    *metrics = metrics_open(2, 1, 2);
	TypeCounts *a = metrics_of(metrics, "b", "A");
	TypeCounts *b = metrics_of(metrics, "b", "B");

	assert_false(metrics_flow_fix(metrics));
	metrics_count(a, COUNT_DONE);
	metrics_time(a, TIME_RUN, 1);
	assert_true(metrics_flow_fix(metrics));
	assert_string_equal(rows_of(metrics), "A 1 1; ");

	/*
	 * The statement fails: the same rows again, and later what came
	 * meanwhile.
	 */
	metrics_count(a, COUNT_DONE);
	metrics_count(b, COUNT_DONE);
	metrics_time(b, TIME_RUN, 1);
	assert_string_equal(rows_of(metrics), "A 1 1; ");
	metrics_flow_taken(metrics);
	assert_true(metrics_flow_fix(metrics));
	assert_string_equal(rows_of(metrics), "A 1 0; B 1 -1; (other) 0 1; ");
	metrics_flow_taken(metrics);
	assert_false(metrics_flow_fix(metrics));
	assert_int_equal(metrics_flow_rows(metrics, NULL, NULL), 0);
	metrics_free(metrics);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_have_counters_of_their_own),
		cmocka_unit_test(later_types_are_others_of_their_bucket),
		cmocka_unit_test(a_scrape_of_many_types_is_small),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(the_next_status_tells_what_became_of_a_failure),
		cmocka_unit_test(times_go_to_the_bucket_of_their_bound),
		cmocka_unit_test(histograms_are_cumulative),
		cmocka_unit_test(types_without_a_histogram_share_one),
		cmocka_unit_test(other_figures_are_counted),
		cmocka_unit_test(nobody_counts_without_metrics),
		cmocka_unit_test(rows_have_what_came_since_the_last_ones)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
