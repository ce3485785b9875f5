/*-------------------------------------------------------------------------
 *
 * test_sweep.c
 *		When the table of tasks is looked at again.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "sweep.h"

static Pg	control = {.is_up = true};

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
	*nodes = 1;
}

void
policies_on_change(Policies *policies, LoopFn fn, void *arg)
{
}

static LoopFn on_same;

void
policies_on_same(Policies *policies, LoopFn fn, void *arg)
{
	on_same = fn;
}

bool
policies_take(Policies *policies, int bucket, const char *type)
{
	return true;
}

static bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	return false;
}

/* Each bucket is looked at again when it has rested itself. */
static void
test_each_rests(void **state)
{
	char	   *names[] = {"a", "b"};
	Config		config = {.buckets = names, .nbuckets = 2, .sweep_us = SECONDS_TO_US(60)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL), table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	sweep_want_all(sweep, true);
	sweep_pump(sweep);
	pass_us(MS_TO_US(100));
	answer("sweep", NULL);		/* rests until 500 */
	pass_us(MS_TO_US(100));
	answer("sweep", NULL);		/* rests until 1000 */
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

/* Whoever comes back asks for it again. */
static void
test_lost(void **state)
{
	char	   *names[] = {"a"};
	Config		config = {.buckets = names, .nbuckets = 1, .sweep_us = SECONDS_TO_US(60)};
	Table	   *tables[] = {table_new(100, 0, resolve, NULL)};
	Sweep	   *sweep = sweep_open(NULL, &config, NULL, NULL, tables);

	sweep_want_all(sweep, true);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rests),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_same_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
