/*-------------------------------------------------------------------------
 *
 * test_slots.c
 *		Limits: booked on the whole way up, waited for in order.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "slots/slots.h"

/* The woken jobs, in order. */
static SlotWaiter *woken[64];
static int	nwoken;

static void
note_wake(SlotWaiter *waiter)
{
	assert_null(waiter->limit);
	woken[nwoken++] = waiter;
}

static SlotWaiter
waiter_of(int priority, uint64 sequence)
{
	SlotWaiter	waiter = {.priority = priority, .sequence = sequence};

	waiter.wake = note_wake;
	return waiter;
}

static int
start(void **state)
{
	(void) state;
	nwoken = 0;
	return 0;
}

static void
free_times(Limit *limit, int times)
{
	while (times-- > 0)
		slots_free(limit);
}

static void
test_booked_on_the_whole_way(void **state)
{
	Limit	   *node = limit_new("node", 3, NULL);
	Limit	   *group = limit_new("group", 2, node);
	Limit	   *one = limit_new("one", 0, group);
	Limit	   *other = limit_new("other", -1, node);

	(void) state;
	assert_string_equal(limit_name(group), "group");
	assert_null(slots_book(one, 5));
	assert_null(slots_book(one, 5));
	assert_ptr_equal(slots_book(one, 5), group);
	assert_int_equal(limit_used(one), 2);
	assert_int_equal(limit_used(group), 2);
	assert_int_equal(limit_used(node), 2);
	assert_null(slots_book(other, 5));
	assert_ptr_equal(slots_book(other, 5), node);
	assert_int_equal(limit_used(other), 1);
	/* both are full now: the lowest is named */
	assert_ptr_equal(slots_book(one, 5), group);
	slots_free(one);
	assert_int_equal(limit_used(one), 1);
	assert_int_equal(limit_used(group), 1);
	assert_int_equal(limit_used(node), 2);
	assert_null(slots_book(other, 5));
	slots_free(one);
	free_times(other, 2);
	assert_int_equal(limit_used(node), 0);
	limit_free(one);
	limit_free(group);
	limit_free(other);
	limit_free(node);
}

static void
test_most_urgent_then_oldest(void **state)
{
	Limit	   *limit = limit_new("limit", 1, NULL);
	SlotWaiter	waiters[] = {
		waiter_of(5, 30), waiter_of(5, 10), waiter_of(0, 40),
		waiter_of(9, 1), waiter_of(5, 20)
	};
	static const int order[] = {2, 1, 4, 0, 3};
	size_t		i;

	(void) state;
	assert_null(slots_book(limit, 5));
	for (i = 0; i < lengthof(waiters); i++)
		slots_wait(limit, &waiters[i]);
	for (i = 0; i < lengthof(waiters); i++)
	{
		slots_free(limit);
		assert_int_equal(nwoken, i + 1);
		assert_ptr_equal(woken[i], &waiters[order[i]]);
		assert_null(slots_book(limit, 5));
	}
	slots_free(limit);
	assert_int_equal(nwoken, lengthof(waiters));
	limit_free(limit);
}

static void
test_unwait(void **state)
{
	Limit	   *limit = limit_new("limit", 1, NULL);
	SlotWaiter	first = waiter_of(1, 1);
	SlotWaiter	second = waiter_of(2, 2);

	(void) state;
	assert_null(slots_book(limit, 5));
	slots_wait(limit, &second);
	slots_wait(limit, &first);
	assert_ptr_equal(first.limit, limit);
	slots_unwait(&first);
	assert_null(first.limit);
	assert_int_equal(nwoken, 0);
	slots_free(limit);
	assert_int_equal(nwoken, 1);
	assert_ptr_equal(woken[0], &second);
	limit_free(limit);
}

static void
test_wakes_at_each_limit(void **state)
{
	Limit	   *node = limit_new("node", 2, NULL);
	Limit	   *left = limit_new("left", 1, node);
	Limit	   *right = limit_new("right", 0, node);
	SlotWaiter	at_left[] = {waiter_of(5, 1), waiter_of(5, 2)};
	SlotWaiter	at_node[] = {waiter_of(7, 3), waiter_of(7, 4)};

	(void) state;
	assert_null(slots_book(left, 5));
	assert_null(slots_book(right, 5));
	slots_wait(left, &at_left[0]);
	slots_wait(left, &at_left[1]);
	slots_wait(node, &at_node[1]);
	slots_wait(node, &at_node[0]);
	slots_free(left);
	assert_int_equal(nwoken, 2);
	assert_ptr_equal(woken[0], &at_left[0]);
	assert_ptr_equal(woken[1], &at_node[0]);
	slots_free(right);
	assert_int_equal(nwoken, 3);
	assert_ptr_equal(woken[2], &at_node[1]);
	slots_unwait(&at_left[1]);
	limit_free(left);
	limit_free(right);
	limit_free(node);
}

static void
test_raised(void **state)
{
	Limit	   *limit = limit_new("limit", 2, NULL);
	SlotWaiter	waiters[] = {waiter_of(5, 1), waiter_of(5, 2), waiter_of(5, 3)};
	int			i;

	(void) state;
	assert_null(slots_book(limit, 5));
	assert_null(slots_book(limit, 5));
	for (i = 0; i < 3; i++)
		slots_wait(limit, &waiters[i]);
	limit_set_max(limit, 3);
	assert_int_equal(nwoken, 1);
	assert_ptr_equal(woken[0], &waiters[0]);
	assert_null(slots_book(limit, 5));
	assert_int_equal(nwoken, 1);

	/* to no limit at all: who books wakes the next one */
	assert_ptr_equal(slots_book(limit, 5), limit);
	slots_wait(limit, &waiters[0]);
	limit_set_max(limit, 0);
	for (i = 0; i < 3; i++)
	{
		assert_int_equal(nwoken, 2 + i);
		assert_ptr_equal(woken[1 + i], &waiters[i]);
		assert_null(slots_book(limit, 5));
	}
	free_times(limit, 6);
	limit_free(limit);
}

static void
test_lowered_while_in_use(void **state)
{
	Limit	   *limit = limit_new("limit", 3, NULL);
	SlotWaiter	waiter = waiter_of(5, 1);

	(void) state;
	assert_null(slots_book(limit, 5));
	assert_null(slots_book(limit, 5));
	assert_null(slots_book(limit, 5));
	limit_set_max(limit, 1);
	assert_int_equal(limit_used(limit), 3);
	assert_ptr_equal(slots_book(limit, 5), limit);
	slots_wait(limit, &waiter);
	slots_free(limit);
	slots_free(limit);
	limit_set_max(limit, 1);
	assert_int_equal(nwoken, 0);	/* still one used, of one */
	slots_free(limit);
	assert_int_equal(nwoken, 1);
	limit_free(limit);
}

/*
 * A slot of the node is freed, and who is woken for it finds its own limit
 * full: the next one at the node gets the turn.
 */
static void
test_refused_below_hands_on(void **state)
{
	Limit	   *node = limit_new("node", 2, NULL);
	Limit	   *left = limit_new("left", 1, node);
	Limit	   *right = limit_new("right", 0, node);
	SlotWaiter	urgent = waiter_of(0, 1);
	SlotWaiter	next = waiter_of(5, 2);

	(void) state;
	assert_null(slots_book(left, 5));
	assert_null(slots_book(right, 5));
	slots_wait(node, &urgent);
	slots_wait(node, &next);
	slots_free(right);
	assert_int_equal(nwoken, 1);
	assert_ptr_equal(woken[0], &urgent);
	assert_ptr_equal(slots_book(left, 5), left);
	slots_wait(left, &urgent);
	assert_int_equal(nwoken, 2);
	assert_ptr_equal(woken[1], &next);
	slots_unwait(&urgent);
	slots_free(left);
	limit_free(left);
	limit_free(right);
	limit_free(node);
}

static void
test_yield(void **state)
{
	Limit	   *limit = limit_new("limit", 1, NULL);
	SlotWaiter	first = waiter_of(1, 1);
	SlotWaiter	second = waiter_of(1, 2);

	(void) state;
	assert_null(slots_book(limit, 5));
	slots_wait(limit, &first);
	slots_wait(limit, &second);
	slots_yield(limit);
	assert_int_equal(nwoken, 0);
	slots_free(limit);
	assert_ptr_equal(woken[0], &first);
	slots_yield(limit);
	assert_int_equal(nwoken, 2);
	assert_ptr_equal(woken[1], &second);
	slots_yield(limit);
	slots_yield(NULL);
	assert_int_equal(nwoken, 2);
	limit_free(limit);
}

/* A waiter that acts at once, from inside wake. */
typedef struct Eager
{
	SlotWaiter	waiter;			/* first */
	Limit	   *wants;
	int			booked;
	int			refused;
} Eager;

static void
book_or_wait(SlotWaiter *waiter)
{
	Eager	   *eager = (Eager *) waiter;
	Limit	   *full = slots_book(eager->wants, 5);

	if (full == NULL)
		eager->booked++;
	else
	{
		eager->refused++;
		slots_wait(full, waiter);
	}
}

static void
test_books_from_inside_wake(void **state)
{
	Limit	   *node = limit_new("node", 1, NULL);
	Limit	   *below = limit_new("below", 1, node);
	Eager		eager[3];
	int			i;

	(void) state;
	assert_null(slots_book(below, 5));
	for (i = 0; i < 3; i++)
	{
		memset(&eager[i], 0, sizeof(Eager));
		eager[i].waiter.wake = book_or_wait;
		eager[i].waiter.sequence = i;
		eager[i].wants = below;
		book_or_wait(&eager[i].waiter);
		assert_int_equal(eager[i].refused, 1);
	}
	limit_set_max(node, 2);		/* nobody waits there */
	assert_int_equal(limit_used(node), 1);
	limit_set_max(below, 5);	/* one more fits, the next finds node full */
	assert_int_equal(limit_used(node), 2);
	assert_int_equal(eager[0].booked, 1);
	assert_ptr_equal(eager[1].waiter.limit, node);
	assert_ptr_equal(eager[2].waiter.limit, below);
	slots_free(below);
	slots_free(below);
	assert_int_equal(eager[1].booked, 1);
	assert_int_equal(eager[2].booked, 1);
	free_times(below, 2);
	limit_free(below);
	limit_free(node);
}

/* Runs misuse in a child; true if an assertion ended it. */
static bool
ends_by_assert(void (*misuse) (void))
{
	int			status;
	pid_t		child = fork();

	assert_true(child >= 0);
	if (child == 0)
	{
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		misuse();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
free_twice(void)
{
	Limit	   *limit = limit_new("limit", 1, NULL);

	if (slots_book(limit, 5) == NULL)
		slots_free(limit);
	slots_free(limit);
}

static void
wait_twice(void)
{
	Limit	   *limit = limit_new("limit", 1, NULL);
	SlotWaiter	waiter = waiter_of(1, 1);

	if (slots_book(limit, 5) == NULL)
		slots_wait(limit, &waiter);
	slots_wait(limit, &waiter);
}

static void
wait_with_room(void)
{
	Limit	   *limit = limit_new("limit", 1, NULL);
	SlotWaiter	waiter = waiter_of(1, 1);

	slots_wait(limit, &waiter);
}

static void
limit_free_in_use(void)
{
	Limit	   *limit = limit_new("limit", 1, NULL);

	if (slots_book(limit, 5) == NULL)
		limit_free(limit);
}

static void
test_misuse(void **state)
{
	(void) state;
#ifndef USE_ASSERT_CHECKING
	skip();
#endif
	assert_true(ends_by_assert(free_twice));
	assert_true(ends_by_assert(wait_twice));
	assert_true(ends_by_assert(wait_with_room));
	assert_true(ends_by_assert(limit_free_in_use));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_booked_on_the_whole_way, start),
		cmocka_unit_test_setup(test_most_urgent_then_oldest, start),
		cmocka_unit_test_setup(test_unwait, start),
		cmocka_unit_test_setup(test_wakes_at_each_limit, start),
		cmocka_unit_test_setup(test_raised, start),
		cmocka_unit_test_setup(test_lowered_while_in_use, start),
		cmocka_unit_test_setup(test_refused_below_hands_on, start),
		cmocka_unit_test_setup(test_yield, start),
		cmocka_unit_test_setup(test_books_from_inside_wake, start),
		cmocka_unit_test_setup(test_misuse, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
