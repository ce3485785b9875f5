/*-------------------------------------------------------------------------
 *
 * acts.h
 *		The acts of a run: faults, and what people do.
 *
 * Each act has a number and chance of its own, which the seed and the number decide.  So
 * a run can leave out some acts, and the others stay what they were and when they were.
 * Their effects may differ, since all else shares one stream of chance.
 *
 * The habits are acts that last for the whole run: without one, nobody does so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_ACTS_H
#define SIM_ACTS_H

#define ACTS_MOST 16000

/* Transactions that lock rows have places of their own, of one act each. */
#define ACTS_LOCKS 20000
#define ACTS_END 24000

/* Acts at one place of the plan: a fault, or tasks that are added together. */
#define ACTS_AT_ONCE 16

typedef enum Habit
{
	HABIT_SLOW_NETWORK,
	HABIT_SLOW_SERVER,
	HABIT_BAD_WORKERS,
	HABIT_BAD_STARTS,
	HABIT_ODD_RESULTS,
	HABIT_SCHEDULES,
	HABIT_RATES,
	HABIT_LOCKS,
	HABIT_KAFKA,
	HABIT_AGING,
	HABIT_COUNT
} Habit;

typedef struct Acts
{
	bool		left_out[ACTS_END];
	bool		done[ACTS_END]; /* the run has come to it, and did it */
	bool		are_listed;		/* prints each that has an effect */
} Acts;

/* Two processes may share them, so the run changes them in place. */
extern void acts_begin(Acts *acts);

/* The number of the first act at the next place of the plan. */
extern int	acts_next(void);
extern int	acts_next_lock(void);

/*
 * Begins an act: until act_end(), chance is the act's own.  False: the run leaves it out,
 * and may take from its chance all the same.
 */
extern bool act_begin(int number);
extern void act_end(void);

/* Tells the effect of the act, for the history and for the list. */
extern void act_tell(const char *fmt,...) pg_attribute_printf(1, 2);

/* As world_happens(), for something that a habit brings about. */
extern bool acts_happens(Habit habit, int permille);

#endif							/* SIM_ACTS_H */
