/*-------------------------------------------------------------------------
 *
 * limits.h
 *		The limits that time or the database may open: which of them is next.
 *
 *		from: limit.h		to: offers.h
 *
 * A limit with a rate gets room at a time, and so may a shared limit that the
 * database refused.  Slots of a shared limit that were freed here are news for the
 * database.  limit.c embeds an entry in each limit, and says what happens to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMITS_H
#define TWT_LIMITS_H

typedef struct Limits Limits;

/* A monotonic clock, in microseconds. */
typedef int64 (*LimitClock) (void *arg);

extern Limits *limits_new(LimitClock clock, void *arg);

/* All its limits must be freed before. */
extern void limits_free(Limits *limits);

extern int64 limits_now_us(const Limits *limits);

/* The next time to call limits_tick(), by the clock; -1: none. */
extern int64 limits_next_us(const Limits *limits);

/* Whether limits_take_freed() has anything to tell. */
extern bool limits_have_freed(Limits *limits);

/* ---- for limit.c ---- */

#define LIMITS_NEVER PG_INT64_MAX

typedef struct LimitsEntry
{
	int64		next_us;		/* when time may make room; LIMITS_NEVER */
	int			place;			/* among the limits with such a time */
	int			freed;			/* freed slots not yet reported to the
								 * database */
	dlist_node	freed_node;
} LimitsEntry;

extern void limits_entry_init(LimitsEntry *entry);

/* Forgets the time and the freed slots of a limit; limits may be NULL if it has none. */
extern void limits_forget(Limits *limits, LimitsEntry *entry);

extern void limits_set_time(Limits *limits, LimitsEntry *entry, int64 next_us);

/* The limit with the earliest time, if that has come; NULL: no limit. */
extern LimitsEntry *limits_due(const Limits *limits, int64 now_us);

extern void limits_add_freed(Limits *limits, LimitsEntry *entry, int n);

/* Takes a limit with freed slots and their number; NULL: there is none. */
extern LimitsEntry *limits_pop_freed(Limits *limits, int *freed);

#endif							/* TWT_LIMITS_H */
