/*-------------------------------------------------------------------------
 *
 * chance.c
 *		What is random in one step of a history.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "chance.h"
#include "common/pg_prng.h"

#define STEPS_MOST 1000

static pg_prng_state state;

void
chance_begin(uint64 seed, int step)
{
	pg_prng_seed(&state, seed * STEPS_MOST + step);
}

int64
chance_between(int64 from, int64 to)
{
	return from >= to ? from : from + (int64) pg_prng_uint64_range(&state, 0, to - from);
}

bool
chance_happens(int permille)
{
	return chance_between(1, 1000) <= permille;
}
