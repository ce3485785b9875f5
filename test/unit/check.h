/*-------------------------------------------------------------------------
 *
 * check.h
 *		What every unit test includes after port.h: cmocka, and chance.
 *
 * Chance comes from a seed, another one in each run, so that a failed history
 * can be run again: tests of random histories begin with test_seed(), and check
 * with check_that(), which prints it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHECK_H
#define TWT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

typedef struct Chance
{
	uint64		state;			/* never 0 */
} Chance;

/* Seed of the first history: TWT_TEST_SEED, else the time; above 0. */
static inline int
test_seed(void)
{
	static int	seed = 0;
	const char *wanted = getenv("TWT_TEST_SEED");

	if (seed > 0)
		return seed;
	seed = wanted != NULL ? atoi(wanted) : (int) (time(NULL) % 1000000000);
	seed = Max(seed, 1);
	printf("# TWT_TEST_SEED=%d\n", seed);
	fflush(stdout);
	return seed;
}

static inline void
chance_init(Chance *chance, uint64 seed)
{
	chance->state = seed * UINT64CONST(0x9E3779B97F4A7C15) | 1;
}

static inline uint64
chance_next(Chance *chance)
{
	chance->state ^= chance->state << 13;
	chance->state ^= chance->state >> 7;
	chance->state ^= chance->state << 17;
	return chance->state;
}

/* 0 .. limit - 1 */
static inline int
chance_below(Chance *chance, int limit)
{
	return (int) ((chance_next(chance) >> 11) % (uint64) limit);
}

/* True in percent of all cases. */
static inline bool
chance_percent(Chance *chance, int percent)
{
	return chance_below(chance, 100) < percent;
}

#define check_that(seed, step, condition) \
	do { \
		if (!(condition)) \
			fail_msg("TWT_TEST_SEED=%d, step %d: %s", (seed), (step), #condition); \
	} while (0)

#endif							/* TWT_CHECK_H */
