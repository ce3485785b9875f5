/*-------------------------------------------------------------------------
 *
 * world.h
 *		What all parts of a simulated run share: its time, its chance, its history.
 *
 * A run has one thread and one seed.  Time moves only from one event to the next, and
 * whatever is random comes from the seed, so the same seed repeats the same run.
 * Events of the same time happen in random order.
 *
 * The history is a line for each thing that happens.  Only a run that prints it makes
 * it.  Its hash tells whether two runs were the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

/* The database's clock at the begin of a run, in microseconds since 1970. */
#define WORLD_EPOCH_US SECONDS_TO_US(1700000000)

typedef void (*EventFn) (void *arg);
typedef struct Event Event;

extern void world_begin(uint64 seed, bool is_told);
extern void world_end(void);

/* Microseconds since the begin of the run. */
extern int64 world_now_us(void);

/* ---- chance ---- */

/* From one to the other, both included. */
extern int64 world_between(int64 from, int64 to);

/* True in so many of a thousand cases. */
extern bool world_happens(int permille);

/* Until world_leave(), the seed and the number alone decide about chance. */
extern void world_enter(int number);
extern void world_leave(void);

/* ---- events ---- */

/* Calls fn once, in_us from now, unless it is cancelled before. */
extern Event *world_after(int64 in_us, EventFn fn, void *arg);
extern void world_cancel(Event *event);

/* Lets the next event happen, if it is due by then.  False: none is. */
extern bool world_step(int64 until_us);

/* ---- history ---- */

extern void world_tell(const char *fmt,...) pg_attribute_printf(1, 2);

/* Something that must never happen: says what, with the seed, and ends the process. */
extern void world_fail(const char *fmt,...) pg_attribute_printf(1, 2) pg_attribute_noreturn();

/* Hears of a failure, in place of stderr; claim: the same for all failures of its kind. */
typedef void (*WorldFailFn) (const char *claim, const char *text);
extern void world_on_fail(WorldFailFn fn);

/* Whether the history is printed. */
extern bool world_is_told(void);
extern uint64 world_hash(void);

/* Counts what a run has reached, for the summary. */
typedef enum Reached
{
	REACHED_TASKS,
	REACHED_RUNS,
	REACHED_WORKERS,
	REACHED_COMMANDS,
	REACHED_FUNCTIONS,
	REACHED_FAULTS,
	REACHED_TAKEN_OVER,
	REACHED_REFUSED,
	REACHED_LOST_CALLS,
	REACHED_UNDONE,
	REACHED_LATE,
	REACHED_OCCURRENCES,
	REACHED_DOOR,
	REACHED_LOCKS,
	REACHED_KAFKA,
	REACHED_RISEN,
	REACHED_COUNT
} Reached;

extern void world_count(Reached what);
extern const int64 *world_counts(void);

#endif							/* SIM_WORLD_H */
