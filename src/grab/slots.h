/*-------------------------------------------------------------------------
 *
 * slots.h
 *		Slots that count in the whole cluster: which grabs they allow.
 *
 *		from: grab.c		to: sql/run/slots.sql
 *
 * A grab takes its slots before it changes the task's row, and stores all that
 * it took in its own transaction.  We lock rows of twtasks.slot_use without
 * waiting: a limit that another grab uses at this moment is busy, and the
 * caller asks again for its tasks a moment later.
 *
 * Without a cluster-wide limit, all this costs one look at a variable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SLOTS_H
#define TWT_SLOTS_H

#include "utils/uuid.h"

#include "common/limit_pattern.h"

typedef struct Slots Slots;

/*
 * A task that is about to be grabbed, with the version that it will have then.
 */
typedef struct LimitedTask
{
	const pg_uuid_t *id;
	int64		version;
	const char *type;
	int			priority;
} LimitedTask;

typedef struct LimitRefusal
{
	char		name[LIMIT_NAME_MAX + 1];	/* the limit's */
	int64		again_ms;		/* when to ask again; 0: when a slot is free */
} LimitRefusal;

/*
 * Slots for one grab of that incarnation.  NULL: no limit counts in the
 * cluster.
 */
extern Slots *slots_open(int64 incarnation);

/*
 * Takes a slot of each limit that covers the task.  False: one limit has no
 * free slot, and nothing is taken.
 */
extern bool slots_take(Slots *slots, const LimitedTask *task,
					   LimitRefusal *refusal);

/* Gives back the slots of the last task, which was not grabbed after all. */
extern void slots_untake(Slots *slots);

/*
 * Stores the slots taken and the refusals.  Returns whether the grab must
 * survive a crash of the server.
 */
extern bool slots_store(Slots *slots);

#endif							/* TWT_SLOTS_H */
