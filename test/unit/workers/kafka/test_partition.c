/*-------------------------------------------------------------------------
 *
 * test_partition.c
 *		Each message of a partition is taken once, whatever is answered.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/kafka/partition.h"

static LogEnds ends = {10, 100, 50};

static Message *
message_at(int64 offset, int size)
{
	Message    *message = palloc0(sizeof(Message));

	message->offset = offset;
	message->size = size;
	return message;
}

/* Returns a partition that reads from the offset. */
static Partition *
partition_at(int64 offset)
{
	Partition  *partition = partition_new("t", 0);
	LogEnds		found;

	(void) partition_found(partition, &ends, PARTITION_LATEST);
	assert_int_equal(partition_place(partition, offset, &found), PARTITION_SEEKS);
	partition_fetch(partition);
	return partition;
}

static void
place_anew(Partition *partition)
{
	(void) partition_fail(partition);
	partition_look(partition);
	(void) partition_found(partition, &ends, PARTITION_LATEST);
}

static int
place(Partition *partition, int64 offset)
{
	LogEnds		found;

	return partition_place(partition, offset, &found);
}

static void
test_start(void **state)
{
	static const LogEnds old = {10, 100, -1};
	static const struct
	{
		const LogEnds *ends;
		PartitionStart start;
		int64		offset;
	}			cases[] = {
		{&ends, PARTITION_LATEST, 100},
		{&ends, PARTITION_EARLIEST, 10},
		{&ends, PARTITION_YOUNG, 50},
		{&old, PARTITION_YOUNG, 100},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		Partition  *partition = partition_new("t", 0);

		assert_int_equal(partition_position(partition), PARTITION_NOWHERE);
		assert_int_equal(partition_found(partition, cases[i].ends, cases[i].start),
						 cases[i].offset);
		partition_free(partition);
	}
}

static void
test_run(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	assert_false(partition_take(partition, &run));
	partition_push(partition, message_at(19, 1));
	partition_push(partition, message_at(23, 1));
	partition_push(partition, message_at(23, 1));
	partition_push(partition, message_at(30, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 2);
	assert_int_equal(run.from_offset, 20);
	assert_int_equal(run.to_offset, 31);
	assert_false(partition_take(partition, &run));
	partition_push(partition, message_at(31, 1));
	assert_int_equal(place(partition, 31), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 1);
	assert_int_equal(run.from_offset, 31);
	partition_free(partition);
}

/* Marks of transactions have offsets, and are no messages. */
static void
test_marks(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	partition_push(partition, message_at(20, 1));
	partition_reach(partition, 25);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 1);
	assert_int_equal(run.to_offset, 25);
	partition_reach(partition, 27);
	assert_int_equal(place(partition, 25), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 0);
	assert_int_equal(run.to_offset, 27);
	assert_int_equal(place(partition, 27), PARTITION_GOES_ON);
	partition_reach(partition, 27);
	assert_false(partition_take(partition, &run));
	partition_forget(partition);
	partition_reach(partition, 30);
	assert_int_equal(partition_position(partition), PARTITION_NOWHERE);
	partition_free(partition);
}

/* The log does not have the messages in memory any more: they are taken from there. */
static void
test_lost_fetches(void **state)
{
	Partition  *partition = partition_at(20);
	static const LogEnds late = {60, 100, -1};
	LogEnds		found;
	Run			run;

	partition_push(partition, message_at(20, 1));
	partition_push(partition, message_at(24, 1));
	partition_lose(partition);
	assert_int_equal(partition_position(partition), PARTITION_NOWHERE);
	partition_push(partition, message_at(25, 1));
	(void) partition_fail(partition);
	partition_look(partition);
	(void) partition_found(partition, &late, PARTITION_LATEST);
	assert_int_equal(place(partition, 20), PARTITION_SEEKS);
	assert_int_equal(partition_position(partition), 25);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 2);
	assert_int_equal(run.to_offset, 25);
	assert_int_equal(place(partition, 25), PARTITION_GOES_ON);

	/* None is left. */
	partition_lose(partition);
	(void) partition_fail(partition);
	partition_look(partition);
	(void) partition_found(partition, &late, PARTITION_LATEST);
	assert_int_equal(partition_place(partition, 25, &found), PARTITION_LACKS_MESSAGES);
	assert_int_equal(found.first, 60);
	partition_free(partition);
}

/* The log has lost its end, and will have other messages there. */
static void
test_undone_messages(void **state)
{
	Partition  *partition = partition_at(20);
	static const LogEnds shorter = {10, 22, -1};
	LogEnds		found;

	partition_push(partition, message_at(20, 1));
	partition_push(partition, message_at(24, 1));
	partition_lose(partition);
	(void) partition_fail(partition);
	partition_look(partition);
	(void) partition_found(partition, &shorter, PARTITION_LATEST);
	assert_int_equal(partition_place(partition, 20, &found), PARTITION_SEEKS);
	assert_int_equal(partition_position(partition), 20);
	partition_free(partition);
}

static void
test_limits(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	partition_push(partition, message_at(20, RUN_BYTES_MAX * 2));
	for (int i = 21; i < 21 + 3; i++)
		partition_push(partition, message_at(i, RUN_BYTES_MAX / 2));
	assert_true(partition_is_full(partition, false));
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 1);
	assert_int_equal(place(partition, run.to_offset), PARTITION_GOES_ON);
	assert_false(partition_is_full(partition, false));
	assert_true(partition_is_full(partition, true));
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 2);
	assert_int_equal(place(partition, run.to_offset), PARTITION_GOES_ON);
	assert_false(partition_is_full(partition, true));
	for (int i = 24; i < 24 + RUN_MESSAGES_MAX; i++)
		partition_push(partition, message_at(i, 0));
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, RUN_MESSAGES_MAX);
	partition_free(partition);
}

static void
test_messages_without_bytes_fill(void **state)
{
	Partition  *partition = partition_at(20);
	int64		n = 20;

	while (n < WAITING_BYTES_MAX && !partition_is_full(partition, false))
		partition_push(partition, message_at(n++, 0));
	assert_true(partition_is_full(partition, false));
	partition_forget(partition);
	assert_false(partition_is_full(partition, true));
	partition_free(partition);
}

/* A part of the run was taken: the rest stays. */
static void
test_partly_taken(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	for (int i = 20; i < 30; i++)
		partition_push(partition, message_at(i, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(place(partition, 25), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.from_offset, 25);
	assert_int_equal(run.n, 5);
	partition_free(partition);
}

/* The message at 29 is at fault: its neighbours are stored, and it is alone then. */
static void
test_halves(void **state)
{
	Partition  *partition = partition_at(20);
	int			nruns = 0;
	Run			run;
	Run			failed;

	for (int i = 20; i < 36; i++)
		partition_push(partition, message_at(i, 1));
	do
	{
		assert_true(partition_take(partition, &run));
		nruns++;
		if (run.to_offset > 29)
		{
			partition_suspect(partition, &failed);
			assert_int_equal(failed.n, run.n);
			assert_int_equal(failed.messages[0]->offset, run.from_offset);
			if (run.n > 1)
				partition_again(partition);
		}
		else
			assert_int_equal(place(partition, run.to_offset), PARTITION_GOES_ON);
	} while (run.n > 1 || run.to_offset <= 29);
	assert_int_equal(run.from_offset, 29);
	assert_int_equal(nruns, 6);
	place_anew(partition);
	assert_int_equal(place(partition, 29), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 1);
	assert_int_equal(place(partition, 30), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.n, 6);
	partition_free(partition);
}

static void
test_lost_answer(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	for (int i = 20; i < 30; i++)
		partition_push(partition, message_at(i, 1));
	assert_true(partition_take(partition, &run));
	place_anew(partition);
	assert_int_equal(place(partition, 30), PARTITION_GOES_ON);
	assert_false(partition_take(partition, &run));
	partition_push(partition, message_at(30, 1));
	assert_true(partition_take(partition, &run));
	place_anew(partition);
	assert_int_equal(place(partition, 30), PARTITION_GOES_ON);
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.from_offset, 30);
	partition_free(partition);
}

static void
test_another_owner(void **state)
{
	Partition  *partition = partition_at(20);
	Run			run;

	for (int i = 20; i < 30; i++)
		partition_push(partition, message_at(i, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(place(partition, 60), PARTITION_SEEKS);
	assert_int_equal(partition_position(partition), 60);
	assert_false(partition_take(partition, &run));
	partition_fetch(partition);
	partition_push(partition, message_at(30, 1));
	assert_false(partition_take(partition, &run));
	partition_push(partition, message_at(60, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(place(partition, 15), PARTITION_SEEKS);
	assert_int_equal(partition_position(partition), 15);
	partition_free(partition);
}

/* An operator or an older copy of the database sets the offset back. */
static void
test_set_back(void **state)
{
	Partition  *partition = partition_at(50);
	Run			run;

	partition_push(partition, message_at(50, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(place(partition, 20), PARTITION_SEEKS);
	partition_push(partition, message_at(51, 1));
	partition_reach(partition, 52);
	assert_int_equal(partition_position(partition), 20);
	assert_false(partition_take(partition, &run));
	partition_fetch(partition);
	partition_push(partition, message_at(20, 1));
	assert_true(partition_take(partition, &run));
	assert_int_equal(run.from_offset, 20);
	assert_int_equal(run.to_offset, 21);
	partition_free(partition);
}

/* Only a look that is younger than the offset can tell that the log lacks it. */
static void
test_ends(void **state)
{
	Partition  *partition = partition_new("t", 0);
	LogEnds		found;

	(void) partition_found(partition, &ends, PARTITION_LATEST);
	assert_int_equal(partition_place(partition, 9, &found), PARTITION_DOUBTS);
	place_anew(partition);
	assert_int_equal(partition_place(partition, 9, &found), PARTITION_LACKS_MESSAGES);
	assert_int_equal(found.first, 10);
	assert_int_equal(partition_state(partition), PARTITION_PLACING);
	assert_int_equal(partition_place(partition, 101, &found), PARTITION_DOUBTS);
	place_anew(partition);
	assert_int_equal(partition_place(partition, 102, &found), PARTITION_DOUBTS);
	place_anew(partition);
	assert_int_equal(partition_place(partition, 102, &found), PARTITION_IS_BEYOND);
	assert_int_equal(partition_position(partition), PARTITION_NOWHERE);
	assert_int_equal(partition_place(partition, 100, &found), PARTITION_SEEKS);
	partition_forget(partition);
	place_anew(partition);
	assert_int_equal(partition_place(partition, 100, &found), PARTITION_SEEKS);
	partition_free(partition);
}

static void
test_trouble(void **state)
{
	Partition  *partition = partition_at(20);
	int64		first = partition_fail(partition);
	int64		last = first;

	assert_true(partition_is_news(partition, "a"));
	assert_false(partition_is_news(partition, "a"));
	assert_true(partition_is_news(partition, "b"));
	for (int i = 0; i < 20; i++)
		last = partition_fail(partition);
	assert_int_equal(last, SECONDS_TO_US(30));
	assert_true(partition_succeed(partition));
	assert_false(partition_succeed(partition));
	assert_true(partition_is_news(partition, "b"));
	assert_int_equal(partition_fail(partition), first);
	partition_free(partition);
}

/*
 * A log with gaps, of which this owner and another take runs into one stored
 * offset.  Answers are lost, and fetches fail.
 */
typedef struct World
{
	Chance		chance;
	Partition  *partition;
	int64		stored;
	int64		fetched;		/* the next offset that the client delivers */
	int			taken[200];
} World;

static bool
is_message(int64 offset)
{
	return offset % 7 != 3 && offset % 11 != 5;
}

static void
take_all(World *world, int64 from, int64 to)
{
	for (int64 i = from; i < to; i++)
		world->taken[i] += is_message(i);
	world->stored = to;
}

static void
answer(World *world)
{
	if (place(world->partition, world->stored) != PARTITION_SEEKS)
		return;
	world->fetched = partition_position(world->partition);
	partition_fetch(world->partition);
}

static void
call(World *world)
{
	Run			run;
	bool		is_lost = chance_percent(&world->chance, 20);

	if (!partition_take(world->partition, &run))
		return;
	if (run.from_offset == world->stored && chance_percent(&world->chance, 80))
		take_all(world, run.from_offset, run.to_offset);
	if (is_lost)
		place_anew(world->partition);
	answer(world);
}

static void
fetch_some(World *world)
{
	for (int n = chance_below(&world->chance, 20); n > 0 && world->fetched < 200; n--)
	{
		if (is_message(world->fetched))
			partition_push(world->partition, message_at(world->fetched, 1));
		world->fetched++;
		if (chance_percent(&world->chance, 5))
			partition_reach(world->partition, world->fetched);
	}
}

static void
step(World *world)
{
	switch (chance_below(&world->chance, 8))
	{
		case 0:
			take_all(world, world->stored, Min(world->stored + 3, 200));
			break;
		case 1:
			if (chance_percent(&world->chance, 50))
				partition_forget(world->partition);
			else
				partition_lose(world->partition);
			place_anew(world->partition);
			answer(world);
			break;
		case 2:
		case 3:
			call(world);
			break;
		default:
			fetch_some(world);
	}
}

static void
test_random(void **state)
{
	int			seed = test_seed();

	ends.first = 0;
	ends.end = 200;
	for (int history = 0; history < 500; history++)
	{
		World		world = {.partition = partition_at(0)};

		chance_init(&world.chance, seed + history);
		for (int i = 0; i < 3000 && world.stored < 199; i++)
			step(&world);
		check_that(seed + history, 0, world.stored >= 199);
		for (int i = 0; i < 199; i++)
			check_that(seed + history, i, world.taken[i] == is_message(i));
		partition_free(world.partition);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_lost_fetches),
		cmocka_unit_test(test_undone_messages),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_messages_without_bytes_fill),
		cmocka_unit_test(test_partly_taken),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_lost_answer),
		cmocka_unit_test(test_another_owner),
		cmocka_unit_test(test_set_back),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
