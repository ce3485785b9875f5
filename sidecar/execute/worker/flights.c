/*-------------------------------------------------------------------------
 *
 * flights.c
 *		Tasks in flight at one worker process, looked up by id and version.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "execute/worker/flights.h"

/*
 * The first size of the hash table, which grows: an HTTP handler may have
 * millions of slots but few tasks.
 */
#define EXPECTED_MAX 1024

typedef struct FlightKey
{
	const char *id;
	int64		version;
} FlightKey;

typedef struct Flight
{
	FlightKey	key;			/* id points to the task's text */
	Task	   *task;
	int64		begins;
	char		status;
} Flight;

static inline uint32
hash_key(FlightKey key)
{
	return hash_bytes((const unsigned char *) key.id, strlen(key.id));
}

static inline bool
is_same_key(FlightKey a, FlightKey b)
{
	return a.version == b.version && strcmp(a.id, b.id) == 0;
}

#define SH_PREFIX table
#define SH_ELEMENT_TYPE Flight
#define SH_KEY_TYPE FlightKey
#define SH_KEY key
#define SH_HASH_KEY(tb, k) hash_key(k)
#define SH_EQUAL(tb, a, b) is_same_key(a, b)
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A task that was asked to stop. */
typedef struct Stop
{
	dlist_node	node;
	const Task *task;
	char	   *why;
	int64		until_us;
} Stop;

struct Flights
{
	table_hash *by_key;
	dlist_head	tasks;			/* by Task.node, the longest in flight first */
	dlist_head	stops;			/* ordered by until_us; few */
	int			count;
	int			nahead;			/* number of tasks with is_ahead */
	bool		tells;			/* the worker reports tasks that it takes up */
	Task	   *presumed;		/* counts as taken up without a report; or
								 * NULL */
};

static FlightKey
key_of(const Task *task)
{
	FlightKey	key = {task->id_text, task->version};

	return key;
}

Flights *
flights_new(int expected)
{
	Flights    *flights = palloc0(sizeof(Flights));

	flights->by_key = table_create(Min(expected, EXPECTED_MAX), NULL);
	dlist_init(&flights->tasks);
	dlist_init(&flights->stops);
	return flights;
}

static Stop *
find_stop(Flights *flights, const Task *task)
{
	dlist_iter	iter;

	dlist_foreach(iter, &flights->stops)
	{
		Stop	   *stop = dlist_container(Stop, node, iter.cur);

		if (stop->task == task)
			return stop;
	}
	return NULL;
}

static char *
free_stop(Stop *stop)
{
	char	   *why = stop->why;

	dlist_delete(&stop->node);
	pfree(stop);
	return why;
}

void
flights_free(Flights *flights)
{
	while (!dlist_is_empty(&flights->stops))
		pfree(free_stop(dlist_head_element(Stop, node, &flights->stops)));
	table_destroy(flights->by_key);
	pfree(flights);
}

/* ---- tasks taken up, and tasks ahead of the worker ---- */

static void
set_ahead(Flights *flights, Task *task, bool is_ahead)
{
	flights->nahead += is_ahead - task->is_ahead;
	task->is_ahead = is_ahead;
}

static void
take_up(Flights *flights, Task *task, int64 now_us)
{
	task->taken_us = now_us;
	set_ahead(flights, task, false);
}

void
flights_go_on(Flights *flights, int64 now_us)
{
	if (flights->count == 0 || flights->nahead < flights->count)
		return;
	flights->presumed = flights_first(flights);
	take_up(flights, flights->presumed, now_us);
}

void
flights_add(Flights *flights, Task *task, int64 begins, int64 now_us)
{
	bool		found;
	Flight	   *flight = table_insert(flights->by_key, key_of(task), &found);

	Assert(!found);
	flight->task = task;
	flight->begins = begins;
	dlist_push_tail(&flights->tasks, &task->node);
	flights->count++;
	task->taken_us = now_us;
	set_ahead(flights, task, flights->tells);
	flights_go_on(flights, now_us);
}

/* The first report of a worker that seemed to send none. */
static void
hear_first(Flights *flights)
{
	dlist_iter	iter;

	flights->tells = true;
	dlist_foreach(iter, &flights->tasks)
		set_ahead(flights, dlist_container(Task, node, iter.cur), true);
}

void
flights_take_up(Flights *flights, Task *task, int64 now_us)
{
	if (!flights->tells)
		hear_first(flights);
	if (flights->presumed != NULL && flights->presumed != task)
		set_ahead(flights, flights->presumed, true);
	flights->presumed = NULL;
	if (task->is_ahead)
		take_up(flights, task, now_us);
}

void
flights_forget_worker(Flights *flights)
{
	flights->tells = false;
}

bool
flights_was_sent(const Flights *flights, const Task *task, int64 sent)
{
	return table_lookup(flights->by_key, key_of(task))->begins < sent;
}

bool
flights_may_have_run(const Flights *flights, const Task *task, int64 sent)
{
	return !task->is_ahead && flights_was_sent(flights, task, sent);
}

int
flights_count(const Flights *flights)
{
	return flights->count;
}

Task *
flights_find(const Flights *flights, const char *id, int64 version)
{
	FlightKey	key = {id, version};
	Flight	   *flight = table_lookup(flights->by_key, key);

	return flight ? flight->task : NULL;
}

Task *
flights_first(Flights *flights)
{
	if (dlist_is_empty(&flights->tasks))
		return NULL;
	return dlist_head_element(Task, node, &flights->tasks);
}

Task *
flights_last(Flights *flights)
{
	if (dlist_is_empty(&flights->tasks))
		return NULL;
	return dlist_tail_element(Task, node, &flights->tasks);
}

char *
flights_remove(Flights *flights, Task *task)
{
	Stop	   *stop = find_stop(flights, task);

	if (task == flights->presumed)
		flights->presumed = NULL;
	set_ahead(flights, task, false);
	table_delete(flights->by_key, key_of(task));
	dlist_delete(&task->node);
	flights->count--;
	return stop ? free_stop(stop) : NULL;
}

bool
flights_stop(Flights *flights, Task *task, const char *why, int64 until_us)
{
	Stop	   *stop;

	if (find_stop(flights, task))
		return false;
	stop = palloc(sizeof(Stop));
	stop->task = task;
	stop->why = pstrdup(why);
	stop->until_us = until_us;
	dlist_push_tail(&flights->stops, &stop->node);
	return true;
}

bool
flights_next_stop(Flights *flights, int64 *until_us)
{
	if (dlist_is_empty(&flights->stops))
		return false;
	*until_us = dlist_head_element(Stop, node, &flights->stops)->until_us;
	return true;
}
