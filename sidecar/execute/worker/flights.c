/*-------------------------------------------------------------------------
 *
 * flights.c
 *		Tasks in flight at one worker process, looked up by id and version.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "execute/worker/flights.h"

/* Compared byte by byte: bytes that are not used are 0. */
typedef struct FlightKey
{
	int64		version;
	char		id[TASK_ID_TEXT + 4];
} FlightKey;

/* A line to the worker, while any of its tasks is in flight. */
typedef struct Line
{
	dlist_head	flights;
	int64		begins;
	int64		ends;
} Line;

/* A task that was asked to stop. */
typedef struct Stop
{
	dlist_node	node;
	char	   *why;
	int64		until_us;
} Stop;

typedef struct Flight
{
	FlightKey	key;
	Task	   *task;
	Line	   *line;
	dlist_node	beside;			/* in the list of the line */
	Stop	   *stop;			/* NULL: not asked */
} Flight;

struct Flights
{
	Map		   *by_key;
	dlist_head	tasks;			/* by Task.node, the longest in flight first */
	dlist_head	stops;			/* ordered by until_us; few */
	int			nlines;
	int			nahead;			/* number of tasks with is_ahead */
	bool		tells;			/* the worker reports tasks that it takes up */
	Line	   *presumed;		/* counts as taken up without a report; or
								 * NULL */
};

static Flight *
find(const Flights *flights, const char *id, int64 version)
{
	FlightKey	key = {version};

	strlcpy(key.id, id, sizeof(key.id));
	return map_get(flights->by_key, &key);
}

static Flight *
flight_of(const Flights *flights, const Task *task)
{
	return find(flights, task->id_text, task->version);
}

Flights *
flights_new(void)
{
	Flights    *flights = palloc0(sizeof(Flights));

	flights->by_key = map_new(sizeof(FlightKey));
	dlist_init(&flights->tasks);
	dlist_init(&flights->stops);
	return flights;
}

static char *
free_stop(Stop *stop)
{
	char	   *why = stop->why;

	dlist_delete(&stop->node);
	pfree(stop);
	return why;
}

/* Returns whether the line has gone with it. */
static bool
free_flight(Flight *flight)
{
	Line	   *line = flight->line;
	bool		is_last;

	dlist_delete(&flight->beside);
	pfree(flight);
	is_last = dlist_is_empty(&line->flights);
	if (is_last)
		pfree(line);
	return is_last;
}

void
flights_free(Flights *flights)
{
	Flight	   *flight;
	uint64		place = 0;

	while (!dlist_is_empty(&flights->stops))
		pfree(free_stop(dlist_head_element(Stop, node, &flights->stops)));
	while ((flight = map_next(flights->by_key, &place)) != NULL)
		free_flight(flight);
	map_free(flights->by_key);
	pfree(flights);
}

/* ---- tasks taken up, and tasks ahead of the worker ---- */

static void
set_ahead(Flights *flights, Task *task, bool is_ahead)
{
	flights->nahead += is_ahead - task->is_ahead;
	task->is_ahead = is_ahead;
}

/* Sets the tasks of a line ahead of the worker, or takes them up. */
static void
set_line(Flights *flights, Line *line, bool is_ahead, int64 now_us)
{
	dlist_iter	iter;

	dlist_foreach(iter, &line->flights)
	{
		Task	   *task = dlist_container(Flight, beside, iter.cur)->task;

		if (!is_ahead)
			task->taken_us = now_us;
		set_ahead(flights, task, is_ahead);
	}
}

void
flights_go_on(Flights *flights, int64 now_us)
{
	int			count = flights_count(flights);

	if (count == 0 || flights->nahead < count)
		return;
	flights->presumed = flight_of(flights, flights_first(flights))->line;
	set_line(flights, flights->presumed, false, now_us);
}

static void
add_flight(Flights *flights, Task *task, Line *line, int64 now_us)
{
	Flight	   *flight = palloc0(sizeof(Flight));

	Assert(flight_of(flights, task) == NULL);
	flight->key.version = task->version;
	strlcpy(flight->key.id, task->id_text, sizeof(flight->key.id));
	flight->task = task;
	flight->line = line;
	dlist_push_tail(&line->flights, &flight->beside);
	map_set(flights->by_key, &flight->key, flight);
	dlist_push_tail(&flights->tasks, &task->node);
	task->taken_us = now_us;
	set_ahead(flights, task, flights->tells);
}

void
flights_add(Flights *flights, dlist_head *tasks, int64 begins, int64 ends, int64 now_us)
{
	Line	   *line = palloc0(sizeof(Line));

	dlist_init(&line->flights);
	line->begins = begins;
	line->ends = ends;
	flights->nlines++;
	while (!dlist_is_empty(tasks))
		add_flight(flights, dlist_container(Task, node, dlist_pop_head_node(tasks)), line, now_us);
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
	Line	   *line = flight_of(flights, task)->line;

	if (!flights->tells)
		hear_first(flights);
	if (flights->presumed != NULL && flights->presumed != line)
		set_line(flights, flights->presumed, true, now_us);
	flights->presumed = NULL;
	if (task->is_ahead)
		set_line(flights, line, false, now_us);
}

void
flights_forget_worker(Flights *flights)
{
	flights->tells = false;
}

bool
flights_was_sent(const Flights *flights, const Task *task, int64 sent)
{
	return flight_of(flights, task)->line->begins < sent;
}

bool
flights_may_have_run(const Flights *flights, const Task *task, int64 sent)
{
	/* The object is whole without the end of its line. */
	return !task->is_ahead && flight_of(flights, task)->line->ends - 1 <= sent;
}

bool
flights_any_may_have_run(const Flights *flights, int64 sent)
{
	dlist_iter	iter;

	dlist_foreach(iter, (dlist_head *) &flights->tasks)
		if (flights_may_have_run(flights, dlist_container(Task, node, iter.cur), sent))
			return true;
	return false;
}

int
flights_lines(const Flights *flights)
{
	return flights->nlines;
}

int
flights_count(const Flights *flights)
{
	return map_count(flights->by_key);
}

Task *
flights_find(const Flights *flights, const char *id, int64 version)
{
	Flight	   *flight = find(flights, id, version);

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
	Flight	   *flight = flight_of(flights, task);
	Line	   *line = flight->line;
	Stop	   *stop = flight->stop;

	set_ahead(flights, task, false);
	map_remove(flights->by_key, &flight->key);
	dlist_delete(&task->node);
	if (free_flight(flight))
	{
		flights->nlines--;
		if (flights->presumed == line)
			flights->presumed = NULL;
	}
	return stop ? free_stop(stop) : NULL;
}

bool
flights_stop(Flights *flights, Task *task, const char *why, int64 until_us)
{
	Flight	   *flight = flight_of(flights, task);
	Stop	   *stop;

	if (flight->stop != NULL)
		return false;
	stop = palloc(sizeof(Stop));
	stop->why = pstrdup(why);
	stop->until_us = until_us;
	dlist_push_tail(&flights->stops, &stop->node);
	flight->stop = stop;
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
