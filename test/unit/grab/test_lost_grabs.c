/*-------------------------------------------------------------------------
 *
 * test_lost_grabs.c
 *		Grabs that the database commits after they were given up.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "grab/lost_grabs.h"
#include "calls/calls.h"

static Policy policy = {.refs = 1, .timeout_us = SECONDS_TO_US(10)};
static HandlerConfig about;
static Limit *node;
static Handler *handler;
static Table *table;
static LostGrabs *lost;
static int	ngiven_back;

/* ---- what it asks of others ---- */

int64
node_incarnation(const Node *incarnation_of)
{
	return 1;
}

Policy *
policies_of(Policies *policies, const char *type)
{
	return &policy;
}

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	assert_int_equal(verdict->result, TASK_RELEASE);
	assert_int_equal(verdict->delay_us, 0);
	assert_int_equal(task->token, 7);
	assert_int_equal(task->version, 2);
	assert_false(task->has_shared_slot);
	ngiven_back++;
}

/* ---- */

static bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	*tag = arg;
	*limit = handler_limit(arg);
	limit_keep(*limit);
	return true;
}

static int
start(void **state)
{
	static char *types[] = {(char *) "A"};
	static Config config;

	about = (HandlerConfig)
	{
		.types = types, .ntypes = 1, .concurrency = 2
	};
	node = limit_new("node", 0, NULL);
	handler = handler_new(&about, NULL, node);
	table = table_new(10, 0, resolve, handler);
	lost = lost_grabs_open(NULL, &config, NULL, NULL);
	ngiven_back = 0;
	return 0;
}

static int
end_test(void **state)
{
	lost_grabs_free(lost);
	assert_int_equal(limit_used(node), 0);
	table_free(table);
	handler_free(handler);
	limit_free(node);
	return 0;
}

/* Loses a grab of n tasks. */
static void
lose_grab(int n)
{
	Batch	   *batch = batch_new();

	for (uint8 i = 1; i <= n; i++)
	{
		Trigger		trigger = {.id = {i}, .version = 1, .type_len = 1, .type = "A"};

		assert_int_equal(table_push(table, &trigger, NULL), TABLE_ADDED);
		batch_add(batch, table, table_pop(table));
	}
	batch_sort(batch);
	batch->token = 7;
	batch->version_shift = 4;
	lost_grabs_add(lost, batch);
	assert_int_equal(limit_used(node), 0);
}

static PGresult *
grabbed(uint8 number)
{
	uint8		id[TASK_ID_BYTES] = {number};
	PGresult   *result = make_result(GRAB_PLACE + 1);

	put_bytes(result, 0, GRAB_ID, id, TASK_ID_BYTES);
	put_int8(result, 0, GRAB_VERSION, 2);
	put_text(result, 0, GRAB_TYPE, "A");
	put_int2(result, 0, GRAB_TRIES, 1);
	return result;
}

/* Bytes of an array on the wire before its elements, each of which has a length. */
#define ARRAY_HEADER (5 * (int) sizeof(int32))

/* The number of tasks that the question under way asks about. */
static int
asked_about(void)
{
	return (find_call("resolve_grab_bare")->sizes[0] - ARRAY_HEADER) / (int) (sizeof(int32) + TASK_ID_BYTES);
}

static void
test_late_grab_is_given_back(void **state)
{
	lose_grab(2);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(find_call("resolve_grab_bare")->int8s[1], 1 + 4);
	answer("resolve_grab_bare", grabbed(2));
	assert_int_equal(ngiven_back, 1);
	assert_int_equal(lost_grabs_count(lost), 0);
	pass_us(SECONDS_TO_US(10));
	assert_null(find_call("resolve_grab_bare"));
}

static void
test_asked_until_it_is_known(void **state)
{
	lose_grab(1);
	for (int i = 0; i < 5; i++)
	{
		pass_us(SECONDS_TO_US(1));
		end_call(find_call("resolve_grab_bare"), i % 2 == 0 ? PG_FAILED : PG_LOST, NULL);
		assert_int_equal(lost_grabs_count(lost), 1);
	}
	pass_us(SECONDS_TO_US(1));
	answer("resolve_grab_bare", NULL);
	assert_int_equal(ngiven_back, 0);
	assert_int_equal(lost_grabs_count(lost), 0);
}

static void
test_each_in_turn(void **state)
{
	lose_grab(1);
	lose_grab(2);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(asked_about(), 1);
	end_call(find_call("resolve_grab_bare"), PG_FAILED, NULL);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(asked_about(), 2);
	answer("resolve_grab_bare", grabbed(2));
	assert_int_equal(ngiven_back, 1);
	assert_int_equal(lost_grabs_count(lost), 1);
}

/* An answer in the name of an old incarnation gives nothing back. */
static void
test_forgotten(void **state)
{
	lose_grab(1);
	pass_us(SECONDS_TO_US(1));
	lost_grabs_forget(lost);
	assert_int_equal(lost_grabs_count(lost), 0);
	lose_grab(2);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(pg_in_flight(last_pg), 1);
	answer("resolve_grab_bare", grabbed(1));
	assert_int_equal(ngiven_back, 0);
	assert_int_equal(lost_grabs_count(lost), 1);
	pass_us(SECONDS_TO_US(1));
	answer("resolve_grab_bare", grabbed(2));
	assert_int_equal(ngiven_back, 1);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_late_grab_is_given_back),
		UNIT(test_asked_until_it_is_known),
		UNIT(test_each_in_turn),
		UNIT(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
