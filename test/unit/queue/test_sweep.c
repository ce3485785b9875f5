/*-------------------------------------------------------------------------
 *
 * test_sweep.c
 *		When the table of tasks is looked at again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "calls/calls.h"
#include "queue/sweep.h"
#include "slots/slots.h"

/*
 * Parameters of the look: the most rows of a type; the number of shares; an
 * array of ids, and its sizes.
 */
enum
{
	SWEEP_PER_TYPE = 1,
	SWEEP_SHARES = 4,
	SWEEP_AFTER = 6,
	ARRAY_HEADER = 20,
	ARRAY_ELEMENT = 4 + TRIGGER_ID_BYTES
};

static Pg	control = {.is_up = true};

static int	living = 1;			/* nodes */

Pg *
node_pg(const Node *node)
{
	return &control;
}

bool
node_is_alive(const Node *node)
{
	return true;
}

void
node_share(const Node *node, int *place, int *nodes)
{
	*place = 0;
	*nodes = living;
}

static LoopFn on_same;

void
policies_on(Policies *policies, PoliciesEvent event, LoopFn fn, void *arg)
{
	if (event == POLICIES_SAME)
		on_same = fn;
}

bool
policies_take(Policies *policies, int bucket, const char *type)
{
	return true;
}

/* None, unless the test gives a limit. */
static bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	*limit = arg;
	if (arg != NULL)
		limit_keep(arg);
	return arg != NULL;
}

/* Each bucket is looked at again when it has rested itself. */
static void
test_each_rests(void **state)
{
	char	   *names[] = {"a", "b"};
	Config		config = {.buckets = names, .nbuckets = 2, .sweep_us = SECONDS_TO_US(60)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL), table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	sweep_want_all(sweep);
	sweep_pump(sweep);
	pass_us(MS_TO_US(100));
	answer("sweep", NULL);		/* rests until 500 */
	pass_us(MS_TO_US(100));
	answer("sweep", NULL);		/* rests until 1000 */
	sweep_pump(sweep);
	for (int i = 0; i < 2; i++)
	{
		turn_wanted = false;
		pass_us(MS_TO_US(i == 0 ? 299 : 499));
		assert_false(turn_wanted);
		pass_us(MS_TO_US(1));
		assert_true(turn_wanted);
	}
	sweep_free(sweep);
	table_free(tables[0]);
	table_free(tables[1]);
}

/* Looks for new tasks cover all shares and take a fifth of the time. */
static void
test_news(void **state)
{
	char	   *names[] = {"a"};
	Config		config = {.buckets = names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(60)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	living = 2;
	sweep_want_news(sweep, 0);
	sweep_pump(sweep);
	assert_int_equal(find_call("sweep")->int4s[SWEEP_SHARES], 1);
	sweep_want_news(sweep, 0);	/* after that look began */
	pass_us(MS_TO_US(10));
	answer("sweep", NULL);
	sweep_pump(sweep);
	assert_null(find_call("sweep"));
	turn_wanted = false;
	pass_us(MS_TO_US(39));
	assert_false(turn_wanted);
	pass_us(MS_TO_US(1));
	assert_true(turn_wanted);
	sweep_pump(sweep);
	answer("sweep", NULL);
	pass_us(MS_TO_US(500));
	sweep_pump(sweep);
	assert_null(find_call("sweep"));
	living = 1;
	sweep_free(sweep);
	table_free(tables[0]);
}

/* After a reconnect the sweep asks again. */
static void
test_lost(void **state)
{
	char	   *names[] = {"a"};
	Config		config = {.buckets = names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(60)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	sweep_want_all(sweep);
	sweep_pump(sweep);
	lose_calls(&control);
	sweep_pump(sweep);
	answer("sweep", NULL);
	sweep_free(sweep);
	table_free(tables[0]);
}

/* The policies were read for nothing, or so it seems: now and then. */
static void
test_same_policies(void **state)
{
	char	   *names[] = {"a"};
	Config		config = {.buckets = names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(3600)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);
	int			nlooks = 0;

	for (int i = 0; i < 100; i++)
	{
		on_same(sweep);
		pass_us(MS_TO_US(100));
		sweep_pump(sweep);
		if (find_call("sweep") == NULL)
			continue;
		answer("sweep", NULL);
		nlooks++;
	}
	assert_int_equal(nlooks, 2);
	sweep_free(sweep);
	table_free(tables[0]);
}

/* An idle node does not look.  When work appears, it looks at the shares of all nodes. */
static void
test_idle(void **state)
{
	char	   *names[] = {"a"};
	Config		config = {.buckets = names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(5)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	living = 2;
	sweep_set_idle(sweep, true);
	pass_us(SECONDS_TO_US(11));
	sweep_pump(sweep);
	assert_null(find_call("sweep"));
	for (int i = 0; i < 2; i++)
	{
		sweep_set_idle(sweep, false);
		sweep_pump(sweep);
		assert_non_null(find_call("sweep"));
		assert_int_equal(find_call("sweep")->int4s[SWEEP_SHARES], 1);
		answer("sweep", NULL);
		sweep_set_idle(sweep, false);
		sweep_pump(sweep);
		assert_null(find_call("sweep"));
		sweep_set_idle(sweep, true);
	}
	living = 1;
	sweep_free(sweep);
	table_free(tables[0]);
}

enum
{
	CAPACITY = 20,
	SHARE = 10
};

static int64
no_clock(void *arg)
{
	return 0;
}

/* A row of that type, whose id begins with that number. */
static void
put_row(PGresult *result, const char *type, int number)
{
	uint8		id[TRIGGER_ID_BYTES] = {number};
	int			row = PQntuples(result);

	put_bytes(result, row, SWEEP_ID, id, sizeof(id));
	put_int8(result, row, SWEEP_VERSION, 0);
	put_text(result, row, SWEEP_TYPE, type);
	put_int2(result, row, SWEEP_PRIORITY, 5);
	put_int4(result, row, SWEEP_SIZE, 0);
	put_bytes(result, row, SWEEP_PLACE, NULL, -1);
}

/* na rows of type A and nb of type B, with ids from first on. */
static PGresult *
rows_of_both(int first, int na, int nb)
{
	PGresult   *result = make_result(SWEEP_PLACE + 1);

	for (int i = 0; i < na; i++)
		put_row(result, "A", first + i);
	for (int i = 0; i < nb; i++)
		put_row(result, "B", first + na + i);
	return result;
}

static PGresult *
rows(int first, int n)
{
	return rows_of_both(first, n, 0);
}

static void
pop(Table *table, Limit *limit, int n)
{
	while (n-- > 0)
	{
		TableEntry *entry = table_pop(table);

		assert_non_null(entry);
		slots_free(limit);
		table_forget(table, entry);
	}
}

/* For how many types the look that is sent now goes on where the last one ended. */
static int
cursors_of_look(Sweep *sweep)
{
	FakeCall   *call;

	sweep_pump(sweep);
	call = find_call("sweep");
	if (call == NULL)
		fail_msg("no look");
	return Max(call->sizes[SWEEP_AFTER] - ARRAY_HEADER, 0) / ARRAY_ELEMENT;
}

/* A sweep of one bucket, whose types share a limit that lets everything start. */
typedef struct Backlog
{
	char	   *names[1];
	Config		config;
	Limits	   *all;
	Limit	   *limit;
	Table	   *tables[1];
	Sweep	   *sweep;
} Backlog;

static Backlog *
open_backlog_of(int share)
{
	Backlog    *backlog = palloc0(sizeof(Backlog));

	backlog->names[0] = (char *) "a";
	backlog->config = (Config)
	{
		.buckets = backlog->names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(60)
	};
	backlog->all = limits_new(no_clock, NULL);
	backlog->limit = limit_new_root(backlog->all, "A", 100);
	backlog->tables[0] = table_new(CAPACITY, share, resolve, backlog->limit);
	backlog->sweep = sweep_open(NULL, &backlog->config, NULL, NULL, backlog->tables);
	sweep_want_all(backlog->sweep);
	return backlog;
}

static Backlog *
open_backlog(void)
{
	return open_backlog_of(SHARE);
}

static void
close_backlog(Backlog *backlog)
{
	sweep_free(backlog->sweep);
	table_free(backlog->tables[0]);
	limit_free(backlog->limit);
	limits_free(backlog->all);
	pfree(backlog);
}

/* Executes the oldest ones. */
static void
execute(Backlog *backlog, int n)
{
	pop(backlog->tables[0], backlog->limit, n);
}

/* A trigger comes that finds no room. */
static void
turn_away(Backlog *backlog)
{
	Trigger		trigger = {.id = {200}, .priority = 9, .type_len = 1, .type = "A"};

	assert_int_equal(table_push(backlog->tables[0], &trigger, NULL), TABLE_SPILLED);
}

/*
 * More of what spilled is fetched from where the last look ended; from the head
 * at its end, and when a task has lost its place and the last look at the head
 * is a second old.
 */
static void
test_goes_on(void **state)
{
	Backlog    *backlog = open_backlog();
	Sweep	   *sweep = backlog->sweep;

	assert_int_equal(cursors_of_look(sweep), 0);
	answer("sweep", rows(0, SHARE));
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 1);
	answer("sweep", rows(SHARE, SHARE / 2));
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 1);
	answer("sweep", rows(SHARE * 3 / 2, 1));	/* the end */
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 0);
	answer("sweep", rows(30, SHARE));
	execute(backlog, SHARE / 2);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(cursors_of_look(sweep), 1);
	answer("sweep", rows(30 + SHARE, SHARE / 2));
	turn_away(backlog);
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 0);
	answer("sweep", rows(40, SHARE));
	turn_away(backlog);
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 1);	/* not yet a second later */
	answer("sweep", rows(40 + SHARE, SHARE / 2));
	execute(backlog, SHARE / 2);
	sweep_want_all(sweep);
	assert_int_equal(cursors_of_look(sweep), 0);
	answer("sweep", NULL);
	close_backlog(backlog);
}

static bool
looks(Sweep *sweep)
{
	sweep_pump(sweep);
	return find_call("sweep") != NULL;
}

/*
 * An expensive look at the head does not keep a backlog from being fetched from
 * the cursors; an expensive look from there does.
 */
static void
test_rests_from_head(void **state)
{
	Backlog    *backlog = open_backlog();
	Sweep	   *sweep = backlog->sweep;

	assert_true(looks(sweep));
	pass_us(MS_TO_US(100));
	answer("sweep", rows(0, SHARE));	/* rests for 400 ms */
	execute(backlog, SHARE / 2);
	assert_int_equal(cursors_of_look(sweep), 1);
	pass_us(MS_TO_US(100));
	/* 20.25 ms do not count, so it rests for 319 ms */
	answer("sweep", rows(SHARE, SHARE / 2));
	execute(backlog, SHARE / 2);
	pass_us(MS_TO_US(318));
	assert_false(looks(sweep));
	pass_us(MS_TO_US(1));
	assert_int_equal(cursors_of_look(sweep), 1);
	answer("sweep", rows(SHARE * 3 / 2, SHARE / 2));

	sweep_want_all(sweep);
	assert_true(looks(sweep));
	pass_us(MS_TO_US(100));
	answer("sweep", rows(50, SHARE / 2));	/* the end: no cursor is left */
	turn_away(backlog);
	execute(backlog, SHARE / 2);
	assert_false(looks(sweep));
	pass_us(MS_TO_US(400));
	assert_int_equal(cursors_of_look(sweep), 0);
	answer("sweep", NULL);
	close_backlog(backlog);
}

/* Rows of a task that the node has. */
static PGresult *
known_rows(void)
{
	PGresult   *known = make_result(SWEEP_PLACE + 1);

	for (int i = 0; i < SHARE; i++)
		put_row(known, "A", SHARE - 1);
	return known;
}

/* Looks that find nothing new rest for twice as long each time, until one finds some. */
static void
test_barren(void **state)
{
	Backlog    *backlog = open_backlog();
	TableEntry *held;

	assert_true(looks(backlog->sweep));
	pass_us(MS_TO_US(1));
	answer("sweep", rows(0, SHARE));
	execute(backlog, SHARE - 1);
	held = table_pop(backlog->tables[0]);
	for (int rest_ms = 8; rest_ms <= 32; rest_ms *= 2)
	{
		assert_int_equal(cursors_of_look(backlog->sweep), 1);
		pass_us(MS_TO_US(1));
		answer("sweep", known_rows());
		turn_wanted = false;
		assert_false(looks(backlog->sweep));
		pass_us(MS_TO_US(rest_ms) - 1);
		assert_false(turn_wanted || looks(backlog->sweep));
		pass_us(1);
		assert_true(turn_wanted);
	}
	/* A slow one after quick ones: no longer than a sweep's period. */
	backlog->config.sweep_us = SECONDS_TO_US(1);
	assert_int_equal(cursors_of_look(backlog->sweep), 1);
	pass_us(MS_TO_US(100));
	answer("sweep", known_rows());
	assert_false(looks(backlog->sweep));
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(cursors_of_look(backlog->sweep), 1);
	pass_us(MS_TO_US(30));
	answer("sweep", rows(20, SHARE));
	execute(backlog, SHARE);
	assert_false(looks(backlog->sweep));
	pass_us(MS_TO_US(38));
	assert_int_equal(cursors_of_look(backlog->sweep), 1);
	answer("sweep", NULL);
	slots_free(backlog->limit);
	table_forget(backlog->tables[0], held);
	close_backlog(backlog);
}

/* Once the table has no task, they do not lengthen the rest of a slow look. */
static void
test_barren_until_empty(void **state)
{
	Backlog    *backlog = open_backlog();
	TableEntry *held;

	assert_true(looks(backlog->sweep));
	answer("sweep", rows(0, SHARE));
	execute(backlog, SHARE - 1);
	held = table_pop(backlog->tables[0]);
	for (int rest_ms = 8; rest_ms <= 32; rest_ms *= 2)
	{
		assert_int_equal(cursors_of_look(backlog->sweep), 1);
		pass_us(MS_TO_US(1));
		answer("sweep", known_rows());
		pass_us(MS_TO_US(rest_ms));
	}
	assert_int_equal(cursors_of_look(backlog->sweep), 1);
	pass_us(MS_TO_US(100));
	answer("sweep", known_rows());
	pass_us(MS_TO_US(400));
	assert_false(looks(backlog->sweep));
	slots_free(backlog->limit);
	table_forget(backlog->tables[0], held);
	assert_true(looks(backlog->sweep));
	answer("sweep", NULL);
	close_backlog(backlog);
}

/* The last look took 100 ms.  It left A spilled, and no cursor. */
static Backlog *
open_fed(void)
{
	Backlog    *backlog = open_backlog();
	Trigger		last = {.id = {201}, .priority = 5, .type_len = 1, .type = "A"};

	assert_true(looks(backlog->sweep));
	pass_us(MS_TO_US(100));
	answer("sweep", rows_of_both(0, SHARE - 1, SHARE - 1));
	assert_int_equal(table_push(backlog->tables[0], &last, NULL), TABLE_ADDED);
	turn_away(backlog);
	pass_us(MS_TO_US(399));
	return backlog;
}

/*
 * A table that is more than half full is refilled from the head when four times
 * the time of the last such look has passed.
 */
static void
test_fed(void **state)
{
	Backlog    *backlog = open_fed();

	execute(backlog, SHARE / 2);
	assert_false(looks(backlog->sweep));
	turn_wanted = false;
	pass_us(MS_TO_US(1));
	assert_true(turn_wanted);
	assert_int_equal(cursors_of_look(backlog->sweep), 0);
	answer("sweep", NULL);
	close_backlog(backlog);
}

/* A table that is half empty is refilled at once. */
static void
test_half_empty(void **state)
{
	Backlog    *backlog = open_fed();

	execute(backlog, SHARE - 1);
	assert_true(looks(backlog->sweep));
	answer("sweep", NULL);
	close_backlog(backlog);
}

/*
 * A look from the head asks for an even share of the table, and for an even share
 * of its room.
 */
static void
test_rows_of_type(void **state)
{
	Backlog    *backlog = open_backlog_of(0);
	Sweep	   *sweep = backlog->sweep;

	assert_true(looks(sweep));
	answer("sweep", rows_of_both(0, CAPACITY / 2, CAPACITY / 2));
	sweep_want_all(sweep);
	assert_true(looks(sweep));
	assert_int_equal(find_call("sweep")->int4s[SWEEP_PER_TYPE], CAPACITY / 2);
	answer("sweep", NULL);
	execute(backlog, 4);
	sweep_want_all(sweep);
	assert_true(looks(sweep));
	assert_int_equal(find_call("sweep")->int4s[SWEEP_PER_TYPE], CAPACITY / 2 + 2);
	answer("sweep", NULL);
	close_backlog(backlog);
}

/* A type that is not looked for now has not come to its end. */
static void
test_full_type(void **state)
{
	Backlog    *backlog = open_backlog();

	assert_int_equal(cursors_of_look(backlog->sweep), 0);
	answer("sweep", rows_of_both(0, SHARE, SHARE));
	execute(backlog, SHARE / 2);	/* tasks of A; B is full */
	assert_int_equal(cursors_of_look(backlog->sweep), 1);
	answer("sweep", rows(50, SHARE / 2));
	execute(backlog, SHARE);	/* half of them of B */
	assert_int_equal(cursors_of_look(backlog->sweep), 2);
	answer("sweep", NULL);
	close_backlog(backlog);
}

/* A look for lost triggers leaves out a type that triggers have filled: a later one takes it. */
static void
test_type_is_full_already(void **state)
{
	Backlog    *backlog = open_backlog();

	for (int i = 0; i < SHARE; i++)
	{
		Trigger		trigger = {.id = {i}, .priority = 5, .type_len = 1, .type = "A"};

		assert_int_equal(table_push(backlog->tables[0], &trigger, NULL), TABLE_ADDED);
	}
	assert_true(looks(backlog->sweep));
	answer("sweep", NULL);
	assert_false(looks(backlog->sweep));
	execute(backlog, SHARE / 2);
	assert_true(looks(backlog->sweep));
	answer("sweep", NULL);
	close_backlog(backlog);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rests),
		cmocka_unit_test(test_news),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_same_policies),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_rests_from_head),
		cmocka_unit_test(test_barren),
		cmocka_unit_test(test_barren_until_empty),
		cmocka_unit_test(test_fed),
		cmocka_unit_test(test_half_empty),
		cmocka_unit_test(test_rows_of_type),
		cmocka_unit_test(test_full_type),
		cmocka_unit_test(test_type_is_full_already),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
