/*-------------------------------------------------------------------------
 *
 * groups.h
 *		The sessions that take from one queue, grouped by the types they handle.
 *
 *		from: queue.c			to: queue.c
 *
 * Sidecars of one bucket may have different handlers, and a queue wakes any of
 * them.  The sessions with the same types are one group.  A session that pops
 * a trigger that it does not handle puts it into the mailbox of each group that
 * does; the producers know nothing of groups, and pay nothing for them.
 *
 * A queue asks each group for a sweep.  A group that
 * is new is asked for a sweep, since triggers that came before went elsewhere.
 *
 * Invariants
 *	- a bit of "present" is set while the group has members;
 *	- joining and leaving happen under the queues' lock, all else without one;
 *	- a mailbox is given to another group only when nobody is putting into it.
 *
 * When no mailbox is free the session joins the last group, which has none and
 * is asked for a sweep in its place.
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

/* Types and beginnings of types with a *, one after the other, each with its
 * NUL; a NULL pointer to a list stands for all types. */
typedef struct TypeList
{
	uint64		hash;
	int			len;
	char		text[FLEXIBLE_ARRAY_MEMBER];
} TypeList;

/* In the given order; two lists are one when they have the same text. */
extern TypeList *type_list_make(MemoryContext context, char **types, int n);
extern bool type_list_fits(const TypeList *list, const char *type);

/* The shared memory of all mailboxes. */
extern Size groups_size(int nqueues);
extern void groups_attach(void *memory, int nqueues, bool is_new);

extern void groups_init(Groups *groups);

/* Returns the number of the group; under the lock. */
extern int	groups_join(Groups *groups, const TypeList *types);
extern void groups_leave(Groups *groups, int group);

/* Asks each group for a sweep; returns those that had not been asked. */
extern uint64 groups_ask(Groups *groups);

/* Whether some group was asked, or is to be as soon as it comes. */
extern bool groups_is_asked(Groups *groups);

/* Whether the group was asked, which is forgotten. */
extern bool groups_take_asked(Groups *groups, int group);

/* Whether there are other groups. */
extern bool groups_are_others(Groups *groups, int group);

/*
 * Gives the trigger to each other group that may handle it.  Returns those:
 * they are to be woken.  0: nobody else takes it.
 */
extern uint64 groups_hand_on(Groups *groups, int group, const TaskTrigger *trigger);

/* What was put into the group's mailbox; false: nothing more. */
extern bool groups_pop(Groups *groups, int group, TaskTrigger *trigger);

/* Whether groups_pop() or groups_take_asked() would give something. */
extern bool groups_has_news(Groups *groups, int group);

#endif							/* TWT_GROUPS_H */
