/*-------------------------------------------------------------------------
 *
 * test_type_limits.c
 *		The limits of the database: one by one what they do.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "slots/slots.h"
#include "slots/type_limits.h"

#define USUAL 5

static int64 now;
static int64 passes_us;			/* with each look at the clock */
static Limits *all;
static Limit *node;
static Limit *handler;
static TypeLimits *limits;
static int	nwoken;

static int64
test_clock(void *arg)
{
	(void) arg;
	now += passes_us;
	return now;
}

static void
count_wake(SlotWaiter *waiter)
{
	(void) waiter;
	nwoken++;
}

static int
start(void **state)
{
	(void) state;
	now = SECONDS_TO_US(1000);
	passes_us = 0;
	nwoken = 0;
	all = limits_new(test_clock, NULL);
	node = limit_new_root(all, "node", 0);
	handler = limit_new("handler", 0, node);
	limits = type_limits_new(node);
	return 0;
}

static int
end_test(void **state)
{
	(void) state;
	type_limits_free(limits);
	limit_free(handler);
	limit_free(node);
	limits_free(all);
	return 0;
}

static LimitRule
rule_of(const char *pattern, int max)
{
	LimitRule	rule = {pattern, false, {.max = max}};

	return rule;
}

static LimitRule
rate_of(const char *pattern, int rate, int64 period_us, int burst)
{
	LimitRule	rule = {pattern, false, {.max = -1, .rate = rate, .period_us = period_us, .burst = burst}};

	return rule;
}

static Limit *
leaf(const char *type)
{
	return type_limits_leaf(limits, type, handler, NULL);
}

static bool
book(Limit *of)
{
	return slots_book(of, USUAL) == NULL;
}

/* Books and starts as often as it goes. */
static int
book_all(Limit *of, int most)
{
	int			n = 0;

	while (n < most && book(of))
	{
		slots_start(of);
		n++;
	}
	return n;
}

static void
free_all(Limit *of)
{
	while (limit_used(of) > 0)
		slots_free(of);
}

static SlotWaiter
waiter_for(Limit *of)
{
	SlotWaiter	waiter = {.wants = of, .priority = USUAL, .wake = count_wake};

	return waiter;
}

/* 30 in all, 15 for PAYOUT, 5 for each key. */
static void
test_hierarchy(void **state)
{
	LimitRule	rules[] = {rule_of("PAYOUT|*", 5), rule_of("*", 30), rule_of("PAYOUT", 15)};
	Limit	   *a = leaf("PAYOUT|a");
	Limit	   *b = leaf("PAYOUT|b");
	Limit	   *c = leaf("PAYOUT|c|EUR");
	Limit	   *d = leaf("PAYOUT|d");
	Limit	   *plain = leaf("PAYOUT");
	Limit	   *other = leaf("PAYOUTS");

	(void) state;
	type_limits_set(limits, rules, 3);
	assert_int_equal(book_all(a, 100), 5);
	assert_int_equal(book_all(b, 100), 5);
	assert_int_equal(book_all(c, 4), 4);
	assert_int_equal(book_all(d, 100), 1);
	assert_string_equal(limit_name(slots_book(d, USUAL)), "PAYOUT");
	assert_string_equal(limit_name(slots_book(a, USUAL)), "PAYOUT|a");
	assert_int_equal(book_all(plain, 100), 0);
	assert_int_equal(book_all(other, 100), 15);
	assert_string_equal(limit_name(slots_book(other, USUAL)), "*");
	slots_free(a);
	assert_int_equal(book_all(plain, 100), 1);
	assert_int_equal(limit_used(node), 30);
	assert_int_equal(type_limits_count(limits), 6);
	for (int i = 0; i < 6; i++)
	{
		Limit	   *each = (Limit *[]) {a, b, c, d, plain, other}[i];

		free_all(each);
		limit_release(each);
	}
}

/* A key with a limit of its own, for a time. */
static void
test_own_limit_of_a_key(void **state)
{
	LimitRule	rules[] = {rule_of("A|*", 2), rule_of("A|x", 4)};
	Limit	   *x = leaf("A|x");
	Limit	   *y = leaf("A|y");

	(void) state;
	type_limits_set(limits, rules, 2);
	assert_int_equal(book_all(x, 9), 4);
	assert_int_equal(book_all(y, 9), 2);
	type_limits_set(limits, rules, 1);
	slots_free(x);
	slots_free(x);
	assert_int_equal(book_all(x, 9), 0);
	slots_free(x);
	assert_int_equal(book_all(x, 9), 1);
	free_all(x);
	free_all(y);
	limit_release(x);
	limit_release(y);
}

static void
test_stretch(void **state)
{
	LimitRule	rule = {"A", false, {.max = 2, .stretch = 3, .stretch_priority = 1}};
	Limit	   *a = leaf("A");
	SlotWaiter	usual = waiter_for(a);
	SlotWaiter	urgent = waiter_for(a);

	(void) state;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 2);
	for (int i = 0; i < 3; i++)
		assert_null(slots_book(a, i % 2));
	slots_wait(slots_book(a, 0), &urgent);
	slots_wait(slots_book(a, 2), &usual);
	urgent.priority = 0;
	slots_unwait(&urgent);
	slots_wait(slots_book(a, 0), &urgent);
	slots_free(a);
	assert_int_equal(nwoken, 1);
	assert_null(urgent.limit);
	assert_null(slots_book(a, 0));
	/* three of five are beyond what others get */
	slots_free(a);
	slots_free(a);
	slots_free(a);
	assert_int_equal(nwoken, 1);
	slots_free(a);
	assert_int_equal(nwoken, 2);
	free_all(a);
	limit_release(a);
}

static void
test_zero_starts_none(void **state)
{
	LimitRule	rule = rule_of("A", 0);
	Limit	   *a = leaf("A|x");

	(void) state;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 0);
	rule.terms.max = -1;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 9);
	free_all(a);
	limit_release(a);
}

static void
test_rate(void **state)
{
	LimitRule	rule = rate_of("A", 10, SECONDS_TO_US(1), 3);
	Limit	   *a = leaf("A");
	SlotWaiter	waiter = waiter_for(a);

	(void) state;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(limits_next_us(all), -1);
	assert_int_equal(book_all(a, 9), 3);
	assert_int_equal(limits_next_us(all), -1);
	slots_wait(slots_book(a, USUAL), &waiter);
	assert_int_equal(limits_next_us(all), now + MS_TO_US(100));
	now += MS_TO_US(99);
	limits_tick(all);
	assert_int_equal(nwoken, 0);
	now += MS_TO_US(1);
	limits_tick(all);
	assert_int_equal(nwoken, 1);
	assert_int_equal(limits_next_us(all), -1);
	assert_int_equal(book_all(a, 9), 1);

	/* a start that did not happen uses up no rate */
	now += MS_TO_US(250);
	assert_true(book(a));
	assert_true(book(a));
	assert_false(book(a));
	slots_cancel(a);
	assert_true(book(a));
	assert_false(book(a));
	slots_start(a);
	slots_start(a);
	assert_false(book(a));

	/* no more than a burst, however long nothing came */
	now += SECONDS_TO_US(3600);
	assert_int_equal(book_all(a, 9), 3);
	free_all(a);
	limit_release(a);
}

/* The starts used up stay used up when the pace changes. */
static void
test_rate_changes(void **state)
{
	LimitRule	rule = rate_of("A", 1, SECONDS_TO_US(1), 4);
	Limit	   *a = leaf("A");

	(void) state;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 4);
	now += SECONDS_TO_US(1);
	rule.terms.rate = 10;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 1);
	now += MS_TO_US(200);
	assert_int_equal(book_all(a, 9), 2);
	rule.terms.rate = 0;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 9);
	free_all(a);
	limit_release(a);
}

/* 7 per second are not 8 in any second beyond the first. */
static void
test_rate_never_above(void **state)
{
	LimitRule	rule = rate_of("A", 7, SECONDS_TO_US(1), 1);
	Limit	   *a = leaf("A");
	int			n = 0;

	(void) state;
	type_limits_set(limits, &rule, 1);
	for (int i = 0; i < 1000000; i += 100)
	{
		n += book_all(a, 9);
		now += 100;
	}
	assert_int_equal(n, 7);
	free_all(a);
	limit_release(a);
}

/* Keys come and go; those whose rate is not rested are remembered. */
static void
test_keys_are_freed(void **state)
{
	LimitRule	rules[] = {rule_of("A|*", 1), rate_of("B|*", 1, SECONDS_TO_US(1), 1), rule_of("*", 1000)};
	char		type[16];

	(void) state;
	type_limits_set(limits, rules, 3);
	for (int i = 0; i < 10000; i++)
	{
		Limit	   *a;
		Limit	   *b;

		snprintf(type, sizeof(type), "A|%d", i);
		a = leaf(type);
		type[0] = 'B';
		b = leaf(type);
		assert_int_equal(book_all(a, 2), 1);
		assert_int_equal(book_all(b, 2), 1);
		free_all(a);
		free_all(b);
		limit_release(a);
		limit_release(b);
		now += MS_TO_US(1);
	}
	assert_in_range(type_limits_count(limits), 1000, 1000 + 300);

	/* a limit that was freed meanwhile continues from its old rate */
	for (int i = 9999; i > 9000; i -= 100)
	{
		Limit	   *b;

		snprintf(type, sizeof(type), "B|%d", i);
		b = leaf(type);
		assert_int_equal(book_all(b, 1), 0);
		limit_release(b);
	}
	type_limits_set(limits, rules, 1);
	assert_int_equal(type_limits_count(limits), 0);
}

/* ---- limits that others share ---- */

static LimitRule
shared_of(const char *pattern, int max)
{
	LimitRule	rule = {pattern, true, {.max = max}};

	return rule;
}

/* The last argument of fn of limits_take_freed(). */
static int	freed;
static bool wanted;

static void
note_freed(void *arg, Limit *limit, int n, bool is_wanted)
{
	assert_ptr_equal(arg, limits);
	assert_true(limit_is_shared(limit));
	freed = n;
	wanted = is_wanted;
}

static void
take_freed(void)
{
	freed = 0;
	limits_take_freed(all, note_freed, limits);
}

static void
test_freed_in_two_steps(void **state)
{
	LimitRule	rules[] = {shared_of("A", 1), rule_of("*", 1)};
	Limit	   *a = leaf("A");
	Limit	   *b = leaf("B");

	(void) state;
	assert_false(slots_are_shared(a));
	type_limits_set(limits, rules, 2);
	assert_true(slots_are_shared(a));
	assert_false(slots_are_shared(b));
	assert_int_equal(book_all(a, 9), 1);
	assert_false(book(b));
	slots_free_here(a);
	assert_false(book(a));
	assert_true(book(b));
	slots_free(b);
	take_freed();
	assert_int_equal(freed, 0);
	slots_free_shared(a);
	take_freed();
	assert_int_equal(freed, 1);
	assert_false(wanted);
	assert_true(book(a));
	slots_cancel(a);
	take_freed();
	assert_int_equal(freed, 1);
	limit_release(a);
	limit_release(b);
}

/* A slot that was freed is not ours before the database has said so. */
static void
test_freed_is_not_ours(void **state)
{
	LimitRule	rule = shared_of("A|*", 2);
	Limit	   *a = leaf("A|x");
	SlotWaiter	first = waiter_for(a);
	SlotWaiter	second = waiter_for(a);

	(void) state;
	type_limits_set(limits, &rule, 1);
	assert_int_equal(book_all(a, 9), 2);
	slots_wait(slots_book(a, USUAL), &first);
	slots_wait(slots_book(a, USUAL), &second);
	slots_free(a);
	take_freed();
	assert_int_equal(freed, 1);
	assert_true(wanted);
	assert_int_equal(nwoken, 0);
	assert_false(book(a));
	(void) limit_offer(type_limits_find_shared(limits, "A|x"), 1, TURNS_ANSWERED);
	assert_int_equal(nwoken, 1);
	assert_true(book(a));

	/* one more asks than was offered, as far as there is room */
	assert_int_equal(nwoken, 1);
	assert_false(book(a));
	limit_grant(type_limits_find_shared(limits, "A|x"));
	assert_int_equal(nwoken, 1);
	assert_null(type_limits_find_shared(limits, "A|y"));
	assert_null(type_limits_find_shared(limits, "A"));
	slots_unwait(first.limit == NULL ? &second : &first);
	free_all(a);
	limit_release(a);
	take_freed();
}

/* Refused, we wait for an offer, or ask with one task after a moment, and then
 * less and less often. */
static void
test_refused(void **state)
{
	LimitRule	rule = shared_of("A", 10);
	Limit	   *a = leaf("A");
	Limit	   *limit;
	SlotWaiter	waiters[3] = {waiter_for(a), waiter_for(a), waiter_for(a)};

	(void) state;
	type_limits_set(limits, &rule, 1);
	limit = type_limits_find_shared(limits, "A");
	limit_refuse(limit, 0);
	for (int i = 0; i < 3; i++)
		slots_wait(slots_book(a, USUAL), &waiters[i]);
	for (int64 patience = MS_TO_US(125); patience <= SECONDS_TO_US(8); patience *= 2)
	{
		assert_int_equal(limits_next_us(all), now + patience);
		now += patience;
		nwoken = 0;
		limits_tick(all);
		assert_int_equal(nwoken, 1);
		assert_true(book(a));
		assert_false(book(a));
		assert_int_equal(nwoken, 1);
		limit_refuse(limit, 0);
		slots_wait(limit, waiters[0].limit == NULL ? &waiters[0] :
				   waiters[1].limit == NULL ? &waiters[1] : &waiters[2]);
		slots_cancel(a);
		take_freed();
	}
	assert_int_equal(limits_next_us(all), now + SECONDS_TO_US(8));

	/* an offer of one: one and one more may ask */
	nwoken = 0;
	(void) limit_offer(limit, 1, TURNS_ANSWERED);
	assert_int_equal(nwoken, 1);
	assert_true(book(a));
	assert_int_equal(nwoken, 2);
	assert_true(book(a));
	assert_int_equal(nwoken, 2);
	assert_false(book(a));
	limit_grant(limit);
	assert_int_equal(nwoken, 3);
	free_all(a);
	take_freed();
	limit_refuse(limit, 0);
	slots_wait(slots_book(a, USUAL), &waiters[0]);
	assert_int_equal(limits_next_us(all), now + MS_TO_US(125));
	slots_unwait(&waiters[0]);
	limit_release(a);
}

/* Told when to ask again, we do; refused again and again, later. */
static void
test_refused_for_a_time(void **state)
{
	LimitRule	rule = shared_of("A", 10);
	Limit	   *a = leaf("A");
	Limit	   *limit;
	SlotWaiter	waiter = waiter_for(a);

	(void) state;
	type_limits_set(limits, &rule, 1);
	limit = type_limits_find_shared(limits, "A");
	for (int i = 0; i < 12; i++)
	{
		int64		before = now;

		limit_refuse(limit, MS_TO_US(2));
		slots_wait(slots_book(a, USUAL), &waiter);
		(void) limit_offer(limit, 5, TURNS_ANSWERED);
		assert_int_equal(nwoken, i);
		now = limits_next_us(all);
		assert_int_equal(now - before, MS_TO_US(Max(2, Min(256, 1 << i))));
		limits_tick(all);
		assert_int_equal(nwoken, i + 1);
		assert_int_equal(book_all(a, 3), 3);
		free_all(a);
	}
	take_freed();
	limit_release(a);
}

/* Wherever in the course of it a start comes due, somebody hears of it. */
static void
test_due_meanwhile(void **state)
{
	LimitRule	rule = rate_of("A", 1, MS_TO_US(100), 1);
	Limit	   *a = leaf("A");

	(void) state;
	type_limits_set(limits, &rule, 1);
	for (int early = 1; early < 20; early++)
	{
		SlotWaiter	waiters[] = {waiter_for(a), waiter_for(a)};
		int			before = nwoken;
		Limit	   *full;

		assert_int_equal(book_all(a, 2), 1);
		slots_wait(slots_book(a, USUAL), &waiters[0]);
		now += MS_TO_US(100) - early;
		passes_us = 1;
		slots_free(a);
		full = slots_book(a, USUAL);
		if (full != NULL)
			slots_wait(full, &waiters[1]);
		else
			slots_start(a);
		passes_us = 0;
		if (limits_next_us(all) >= 0)
		{
			now = limits_next_us(all);
			limits_tick(all);
		}
		assert_true(nwoken > before || full == NULL);
		for (int i = 0; i < (int) lengthof(waiters); i++)
			if (waiters[i].limit != NULL)
				slots_unwait(&waiters[i]);
		free_all(a);
		now += MS_TO_US(200);
	}
	limit_release(a);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_hierarchy),
		UNIT(test_own_limit_of_a_key),
		UNIT(test_stretch),
		UNIT(test_zero_starts_none),
		UNIT(test_rate),
		UNIT(test_rate_changes),
		UNIT(test_rate_never_above),
		UNIT(test_keys_are_freed),
		UNIT(test_freed_in_two_steps),
		UNIT(test_freed_is_not_ours),
		UNIT(test_refused),
		UNIT(test_refused_for_a_time),
		UNIT(test_due_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
