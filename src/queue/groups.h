/*-------------------------------------------------------------------------
 *
 * groups.h
 *		The sessions that take from one queue, grouped by the types they handle.
 *
 *		from: queue.c			to: queue.c
 *
 * Sidecars of one bucket may have different handlers, and a queue wakes any of
 * them.  The sessions with the same types form one group.  A session that pops
 * a trigger of a type that it does not handle puts the trigger into the
 * mailbox of each group that does.  Producers know nothing of groups, and pay
 * nothing.
 *
 * A queue asks each group for a sweep.  A new group is asked for one too,
 * since earlier triggers went elsewhere.
 *
 * Invariants
 *	- a bit of "present" is set while the group has members;
 *	- joining and leaving happen under the queues' lock, all else without one;
 *	- a mailbox is given to another group only when nobody is putting into it.
 *
 * When no mailbox is free, the session joins the last group, which has no
 * mailbox and is asked for a sweep in place of each trigger.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GROUPS_H
#define TWT_GROUPS_H

#include "port/atomics.h"

#include "common/trigger.h"

#define GROUPS_MAX 64			/* bits of a mask */

typedef struct TakerGroup TakerGroup;

/* Part of a queue, in shared memory. */
typedef struct Groups
{
	pg_atomic_uint64 present;
	pg_atomic_uint64 asked;		/* to sweep */
	int			members[GROUPS_MAX];
	TakerGroup *group[GROUPS_MAX];	/* NULL: has no mailbox */
} Groups;

/*
 * Types and type prefixes that end in *, one after the other, each with its
 * NUL. A NULL pointer to a list stands for all types.
 */
typedef struct TypeList
{
	uint64		hash;
	int			len;
	char		text[FLEXIBLE_ARRAY_MEMBER];
} TypeList;

/* Keeps the given order; two lists are equal when they have the same text. */
extern TypeList *type_list_make(MemoryContext context, char **types, int n);
extern bool type_list_fits(const TypeList *list, const char *type);

/* The shared memory of all mailboxes. */
extern Size groups_size(int nqueues);
extern void groups_attach(void *memory, int nqueues, bool is_new);

extern void groups_init(Groups *groups);

/* Returns the number of the group; under the lock. */
extern int	groups_join(Groups *groups, const TypeList *types);
extern void groups_leave(Groups *groups, int group);

/*
 * Asks each group for a sweep; returns the groups that had not been asked
 * before.
 */
extern uint64 groups_ask(Groups *groups);

/* Whether some group is asked for a sweep, or will be when it joins. */
extern bool groups_is_asked(Groups *groups);

/* Whether the group was asked for a sweep; clears the request. */
extern bool groups_take_asked(Groups *groups, int group);

/* Whether there are groups other than this one. */
extern bool groups_are_others(Groups *groups, int group);

/*
 * Gives the trigger to each other group that may handle it, and returns those
 * groups: the caller wakes them.  0: no other group takes it.
 */
extern uint64 groups_hand_on(Groups *groups, int group, const TaskTrigger *trigger);

/* Takes a trigger out of the group's mailbox; false: the mailbox is empty. */
extern bool groups_pop(Groups *groups, int group, TaskTrigger *trigger);

/* Whether groups_pop() or groups_take_asked() would give something. */
extern bool groups_has_news(Groups *groups, int group);

#endif							/* TWT_GROUPS_H */
