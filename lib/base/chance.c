#include "base/port.h"

#include <unistd.h>

#include "base/chance.h"
#include "common/pg_prng.h"

/* Random number, at least 0 and less than 1. */
static double
chance(void)
{
	static pg_prng_state state;
	static bool seeded = false;

	if (!seeded && !pg_prng_strong_seed(&state))
		pg_prng_seed(&state, (uint64) getpid());
	seeded = true;
	return pg_prng_double(&state);
}

int64
chance_delay(int64 us)
{
	return us - (int64) (us * chance() / 2);
}
