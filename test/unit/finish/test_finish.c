/*-------------------------------------------------------------------------
 *
 * test_finish.c
 *		An outcome that the server refuses does not keep the others, nor does
 *		a function that judges.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "finish/finish.h"
#include "base/policy.h"
#include "calls/calls.h"

static Config config;
static Finish *finish;
static int64 last_token;
static Pg  *plain;
static Pg  *asking;
static Pg  *lost;
static Policy judged = {.refs = 1, .max_tries = 0};

int64
node_incarnation(const Node *node)
{
	return 1;
}

int64
node_next_token(Node *node)
{
	return ++last_token;
}

static int
start(void **state)
{
	finish = finish_open(NULL, &config, NULL);
	plain = last_pg;
	asking = plain->older;
	lost = asking->older;
	judged.retry = (char *) "{}";
	come_up(plain);
	come_up(asking);
	come_up(lost);
	return 0;
}

static int
end_test(void **state)
{
	finish_free(finish);
	return 0;
}

static FakeCall *
call_over(const Pg *pg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &calls)
		if (dlist_container(FakeCall, node, iter.cur)->pg == pg)
		return dlist_container(FakeCall, node, iter.cur);
	return NULL;
}

/* The database says so of the task. */
static void
judge(const Pg *pg, uint8 number, const char *status)
{
	uint8		id[TASK_ID_BYTES] = {number};
	PGresult   *result = make_result(FINISH_DELAY_MS + 1);

	PQsetvalue(result, 0, FINISH_ID, (char *) id, TASK_ID_BYTES);
	put_text(result, 0, FINISH_STATUS, status);
	end_call(call_over(pg), PG_DONE, result);
	finish_pump(finish);
}

static void
lose(Pg *pg)
{
	lose_calls(pg);
	finish_pump(finish);
}

static void
add_result(uint8 number, TaskResult result)
{
	Task		task = {.id = {number}, .version = 1};
	Verdict		verdict = {.result = result};

	finish_add(finish, &task, &verdict);
	finish_pump(finish);
}

static void
add(uint8 number)
{
	add_result(number, TASK_DONE);
}

/* A function of its policy is to say what becomes of it. */
static void
add_failed(uint8 number)
{
	Task		task = {.id = {number}, .version = 1, .type = (char *) "A", .policy = &judged};
	Verdict		verdict = {.result = TASK_FAILURE, .message = "failed"};

	finish_add(finish, &task, &verdict);
	finish_pump(finish);
}

/* How many tasks the call under way is for; 0: there is none. */
static int
tasks_over(const Pg *pg)
{
	FakeCall   *call = call_over(pg);

	/* 20 bytes of the array's head, then each with its length */
	return call == NULL ? 0 : (call->sizes[0] - 20) / (4 + TASK_ID_BYTES);
}

static int
tasks_sent(void)
{
	return tasks_over(plain);
}

static void
refuse(void)
{
	end_call(find_call("finish"), PG_FAILED, NULL);
	finish_pump(finish);
}

/* Takes what was sent; of what was sent before, the sidecar asks what became. */
static void
accept(void)
{
	answer("finish", NULL);
	if (find_call("resolve_finish") != NULL)
		answer("resolve_finish", NULL);
	finish_pump(finish);
}

static void
test_others_go_on(void **state)
{
	add(1);
	refuse();
	assert_int_equal(tasks_sent(), 0);
	add(2);
	assert_int_equal(tasks_sent(), 1);
	accept();
	assert_int_equal(finish_pending(finish), 1);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	refuse();
	assert_int_equal(tasks_sent(), 0);
	pass_us(SECONDS_TO_US(1));
	accept();
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_all_wait_when_all_are_refused(void **state)
{
	for (uint8 i = 1; i <= 3; i++)
	{
		add(i);
		refuse();
	}
	add(4);
	assert_int_equal(tasks_sent(), 0);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	while (tasks_sent() > 0)
		accept();
	assert_int_equal(finish_pending(finish), 0);
}

/* The database takes the task 2, and refuses n others. */
static void
refuse_beside_others(int n)
{
	for (int i = 0; i < n; i++)
	{
		add(1);
		refuse();
		add(2);
		judge(plain, 2, "DONE");
	}
	assert_int_equal(finish_pending(finish), n);
}

/* Ends the calls under way, and those that follow at once; returns their number. */
static int
end_calls(void (*end_one) (void))
{
	int			n = 0;

	for (; tasks_sent() > 0; n++)
		end_one();
	return n;
}

static void
test_refused_do_not_hold_back_grabs(void **state)
{
	refuse_beside_others(3000);
	assert_false(finish_is_behind(finish));
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	assert_false(finish_is_behind(finish));
	for (int i = 0; i < 2999; i++)
		add(2);
	assert_false(finish_is_behind(finish));
	add(2);
	assert_true(finish_is_behind(finish));
}

static void
test_too_many_refused_hold_back_grabs(void **state)
{
	refuse_beside_others(29999);
	assert_false(finish_is_behind(finish));
	add(1);
	refuse();
	assert_true(finish_is_behind(finish));
	pass_us(SECONDS_TO_US(1));
	assert_true(finish_is_behind(finish));
	accept();
	assert_false(finish_is_behind(finish));
}

/* A few go again in each second, and the others do not wait for them. */
static void
test_few_refused_go_again(void **state)
{
	refuse_beside_others(100);
	for (int i = 0; i < 20; i++)
	{
		pass_us(SECONDS_TO_US(1));
		assert_int_equal(end_calls(refuse), 10);
		add(2);
		assert_int_equal(tasks_sent(), 1);
		judge(plain, 2, "DONE");
	}
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(end_calls(accept), 10);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	refuse();
	assert_int_equal(end_calls(accept), 89);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(end_calls(accept), 1);
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_fewer_go_again_after_a_refusal(void **state)
{
	refuse_beside_others(100);
	pass_us(SECONDS_TO_US(1));
	for (int i = 0; i < 9; i++)
		accept();
	assert_int_equal(end_calls(refuse), 1);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(end_calls(refuse), 10);
}

static void
test_no_pause_while_others_are_stored(void **state)
{
	add(2);
	judge(plain, 2, "DONE");
	for (int i = 0; i < 10; i++)
	{
		add(1);
		refuse();
	}
	add(2);
	assert_int_equal(tasks_sent(), 1);
	judge(plain, 2, "DONE");
}

/* The parameters of finish_tasks(), and the bytes of an array of one text. */
enum
{
	RESULTS = 2, MESSAGES = 4, OUTCOMES = 11, ADDS = 12
};

#define TEXT_SIZE(text) (20 + 4 + (int) sizeof(text) - 1)

static void
refuse_for(const char *state)
{
	failure_state = state;
	refuse();
	failure_state = "";
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
}

static void
add_verdict(const Verdict *verdict)
{
	Task		task = {.id = {1}, .version = 1};

	finish_add(finish, &task, verdict);
	finish_pump(finish);
}

static void
expect_sent(int param, int size)
{
	assert_int_equal(call_over(plain)->sizes[param], size);
}

static void
expect_error(int message_size)
{
	expect_sent(RESULTS, TEXT_SIZE("error"));
	expect_sent(MESSAGES, message_size);
	expect_sent(OUTCOMES, 0);
	expect_sent(ADDS, 0);
	accept();
	assert_int_equal(finish_pending(finish), 0);
}

static const Verdict with_all = {.result = TASK_DONE, .message = "m", .outcome = "{}", .add = "[[]]"};
static const Verdict with_outcome = {.result = TASK_DONE, .message = "m", .outcome = "{}"};
static const Verdict with_message = {.result = TASK_DONE, .message = "m"};

/* A task whose successors cannot be stored is not done. */
static void
test_bad_content_is_replaced(void **state)
{
	static const char *const states[] = {"22P02", "54001"};

	for (int i = 0; i < (int) lengthof(states); i++)
	{
		add_verdict(&with_all);
		expect_sent(ADDS, TEXT_SIZE("[[]]"));
		refuse_for(states[i]);
		expect_error(TEXT_SIZE("the handler's tasks to add could not be stored"));

		add_verdict(&with_outcome);
		refuse_for(states[i]);
		expect_error(TEXT_SIZE("the handler's outcome could not be stored"));

		add_verdict(&with_message);
		refuse_for(states[i]);
		expect_sent(RESULTS, TEXT_SIZE("done"));
		expect_sent(MESSAGES, TEXT_SIZE("the handler's message could not be stored"));
		accept();
	}
}

/* A full disk, a trigger's error, no transaction ids left, a damaged page: twice. */
static void
test_good_content_is_kept(void **state)
{
	static const char *const states[] = {"53100", "P0001", "54000", "54000", "XX001", "XX001"};

	add_verdict(&with_all);
	for (int i = 0; i < (int) lengthof(states); i++)
		refuse_for(states[i]);
	expect_sent(RESULTS, TEXT_SIZE("done"));
	expect_sent(ADDS, TEXT_SIZE("[[]]"));
	accept();
}

static void
test_asked_apart(void **state)
{
	add_failed(1);
	assert_non_null(call_over(asking));
	assert_null(call_over(plain));
	add(2);
	assert_non_null(call_over(plain));
	end_call(call_over(plain), PG_DONE, PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK));
	assert_int_equal(finish_pending(finish), 1);
	judge(asking, 1, "WAITING");
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_asked_again_when_there_was_no_time(void **state)
{
	add_failed(1);
	judge(asking, 1, "PROCESSING");
	assert_int_equal(finish_pending(finish), 1);
	judge(asking, 1, "ERROR");
	assert_int_equal(finish_pending(finish), 0);
}

/* The others do not wait for it meanwhile. */
static void
test_sent_again_a_second_later(void **state)
{
	add(1);
	judge(plain, 1, "PROCESSING");
	assert_int_equal(tasks_sent(), 0);
	add(2);
	assert_int_equal(tasks_sent(), 1);
	judge(plain, 2, "DONE");
	assert_int_equal(finish_pending(finish), 1);
	pass_us(SECONDS_TO_US(1));
	judge(plain, 1, "ERROR");
	assert_int_equal(finish_pending(finish), 0);
}

/* Meanwhile it was taken over. */
static void
test_refused_after_it_was_left(void **state)
{
	add(1);
	judge(plain, 1, "PROCESSING");
	pass_us(SECONDS_TO_US(1));
	accept();
	assert_int_equal(finish_pending(finish), 0);
}

static void
add_grabbed(uint8 number, int64 token)
{
	Task		task = {.id = {number}, .version = 1, .token = token};
	Verdict		verdict = {.result = TASK_DONE};

	finish_add(finish, &task, &verdict);
}

/*
 * A crash of the server has undone a grab of a task, and the next grab gave it
 * the same version.  Only the second outcome counts, and it may be left for later.
 */
static void
test_two_grabs_of_one_task(void **state)
{
	add(9);
	add_grabbed(1, 5);
	add_grabbed(2, 6);
	add_grabbed(1, 7);
	judge(plain, 9, "DONE");
	assert_int_equal(tasks_sent(), 2);
	judge(plain, 2, "DONE");
	assert_int_equal(finish_pending(finish), 1);
	assert_int_equal(tasks_sent(), 1);
	judge(plain, 1, "PROCESSING");
	assert_int_equal(finish_pending(finish), 1);
	pass_us(SECONDS_TO_US(1));
	judge(plain, 1, "DONE");
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_accepted_task_stays_processing(void **state)
{
	add_result(1, TASK_ACCEPTED);
	judge(plain, 1, "PROCESSING");
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_not_asked_after_two_losses(void **state)
{
	add_failed(1);
	lose(asking);
	assert_non_null(call_over(asking));
	assert_null(call_over(plain));
	lose(asking);
	assert_null(call_over(asking));
	assert_null(call_over(plain));
	judge(lost, 1, "WAITING");
	assert_int_equal(finish_pending(finish), 0);
}

/* Its rows may stay locked for as long as its backend stands still. */
static void
test_lost_do_not_hold_back_others(void **state)
{
	add(1);
	lose(plain);
	assert_non_null(call_over(lost));
	add(2);
	judge(plain, 2, "DONE");
	add(3);
	lose(plain);
	assert_int_equal(tasks_over(lost), 1);
	lose(lost);
	judge(lost, 3, "DONE");
	judge(lost, 1, "DONE");
	assert_int_equal(finish_pending(finish), 0);
}

/* Neither those that wait, nor one for which there was no time. */
static void
test_not_asked_after_ten_seconds(void **state)
{
	add_failed(1);
	for (uint8 i = 2; i < 10; i++)
		add_failed(i);
	pass_us(SECONDS_TO_US(9));
	finish_pump(finish);
	assert_null(call_over(plain));
	pass_us(SECONDS_TO_US(1));
	finish_pump(finish);
	assert_int_equal(tasks_over(plain), 8);
	judge(asking, 1, "PROCESSING");
	while (call_over(plain) != NULL)
	{
		end_call(call_over(plain), PG_DONE, PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK));
		finish_pump(finish);
	}
	assert_int_equal(finish_pending(finish), 0);
}

/* Also those that the database refuses. */
static void
test_refused_are_not_asked_after_ten_seconds(void **state)
{
	for (int i = 0; i < 30; i++)
		add_failed(1);
	pass_us(SECONDS_TO_US(1) / 2);
	for (int i = 0; i < 12; i++)
	{
		while (call_over(asking) != NULL)
		{
			end_call(call_over(asking), PG_FAILED, NULL);
			finish_pump(finish);
		}
		pass_us(SECONDS_TO_US(1));
	}
	finish_pump(finish);
	assert_null(call_over(asking));
	assert_non_null(call_over(plain));
	while (call_over(plain) != NULL)
	{
		end_call(call_over(plain), PG_DONE, PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK));
		finish_pump(finish);
	}
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_sent_in_the_name_of_the_next_incarnation(void **state)
{
	add_failed(1);
	finish_gone(finish);
	assert_int_equal(finish_pending(finish), 1);
	come_up(asking);
	finish_pump(finish);
	assert_int_equal(tasks_over(asking), 1);
	end_call(call_over(asking), PG_DONE, PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK));
	assert_int_equal(finish_pending(finish), 0);
	assert_int_equal(judged.refs, 1);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_others_go_on),
		UNIT(test_all_wait_when_all_are_refused),
		UNIT(test_refused_do_not_hold_back_grabs),
		UNIT(test_too_many_refused_hold_back_grabs),
		UNIT(test_few_refused_go_again),
		UNIT(test_fewer_go_again_after_a_refusal),
		UNIT(test_no_pause_while_others_are_stored),
		UNIT(test_bad_content_is_replaced),
		UNIT(test_good_content_is_kept),
		UNIT(test_asked_apart),
		UNIT(test_asked_again_when_there_was_no_time),
		UNIT(test_sent_again_a_second_later),
		UNIT(test_refused_after_it_was_left),
		UNIT(test_two_grabs_of_one_task),
		UNIT(test_accepted_task_stays_processing),
		UNIT(test_lost_do_not_hold_back_others),
		UNIT(test_not_asked_after_two_losses),
		UNIT(test_not_asked_after_ten_seconds),
		UNIT(test_refused_are_not_asked_after_ten_seconds),
		UNIT(test_sent_in_the_name_of_the_next_incarnation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
