/*-------------------------------------------------------------------------
 *
 * world.c
 *		What all parts of a simulated run share: its time, its chance, its history.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/heap.h"
#include "common/pg_prng.h"
#include "world.h"

/* FNV-1a */
#define HASH_BASIS UINT64CONST(14695981039346656037)
#define CHANCE_PRIME UINT64CONST(11400714819323198485)
#define HASH_PRIME UINT64CONST(1099511628211)

struct Event
{
	int64		at_us;
	uint64		rank;			/* among events of the same time */
	EventFn		fn;
	void	   *arg;
	int			place;
};

typedef struct World
{
	uint64		seed;
	int64		now_us;
	pg_prng_state chance;
	pg_prng_state left;			/* the stream of all, while an act has its own */
	Heap		events;
	bool		is_told;
	uint64		hash;
	int64		counts[REACHED_COUNT];
} World;

static World world;

static bool
is_earlier(const void *a, const void *b)
{
	const Event *one = a;
	const Event *two = b;

	return one->at_us != two->at_us ? one->at_us < two->at_us : one->rank < two->rank;
}

static void
set_place(void *event, int place)
{
	((Event *) event)->place = place;
}

static void
print_failure(const char *claim, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static WorldFailFn on_fail = print_failure;

void
world_begin(uint64 seed, bool is_told)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.is_told = is_told;
	world.hash = HASH_BASIS;

	pg_prng_seed(&world.chance, seed);
	heap_init(&world.events, is_earlier, set_place);
}

void
world_end(void)
{
	while (world.events.count > 0)
		world_cancel(heap_first(&world.events));
	heap_clear(&world.events);
}

int64
world_now_us(void)
{
	return world.now_us;
}

int64
world_between(int64 from, int64 to)
{
	return from >= to ? from : from + (int64) pg_prng_uint64_range(&world.chance, 0, to - from);
}

bool
world_happens(int permille)
{
	return world_between(1, 1000) <= permille;
}

void
world_enter(int number)
{
	world.left = world.chance;

	pg_prng_seed(&world.chance, (world.seed + 1) * CHANCE_PRIME + number);
}

void
world_leave(void)
{
	world.chance = world.left;
}

Event *
world_after(int64 in_us, EventFn fn, void *arg)
{
	Event	   *event = palloc(sizeof(Event));

	event->at_us = world.now_us + Max(in_us, 0);

	event->rank = pg_prng_uint64(&world.chance);
	event->fn = fn;
	event->arg = arg;
	heap_push(&world.events, event);
	return event;
}

void
world_cancel(Event *event)
{
	(void) heap_remove(&world.events, event->place);
	pfree(event);
}

bool
world_step(int64 until_us)
{
	Event	   *event = heap_first(&world.events);
	EventFn		fn;
	void	   *arg;

	if (event == NULL || event->at_us > until_us)
	{
		world.now_us = Max(world.now_us, until_us);

		return false;
	}
	fn = event->fn;
	arg = event->arg;
	world.now_us = event->at_us;

	world_cancel(event);
	fn(arg);
	return true;
}

void
world_tell(const char *fmt,...)
{
	char		line[1000];
	va_list		args;

	if (!world.is_told)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	world.hash = (world.hash ^ (uint64) world.now_us) * HASH_PRIME;

	for (const char *at = line; *at != '\0'; at++)
		world.hash = (world.hash ^ (uint8) *at) * HASH_PRIME;

	fprintf(stderr, "%12.6f %s\n", world.now_us / 1e6, line);
}

void
world_fail(const char *fmt,...)
{
	char		text[1000];
	int			len = snprintf(text, sizeof(text), "seed " UINT64_FORMAT ": after %.6f s: ", world.seed, world.now_us / 1e6);
	va_list		args;

	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, args);
	va_end(args);
	on_fail(fmt, text);
	_exit(1);
}

void
world_on_fail(WorldFailFn fn)
{
	on_fail = fn;
}

bool
world_is_told(void)
{
	return world.is_told;
}

uint64
world_hash(void)
{
	return world.hash;
}

void
world_count(Reached what)
{
	world.counts[what]++;
}

const int64 *
world_counts(void)
{
	return world.counts;
}
