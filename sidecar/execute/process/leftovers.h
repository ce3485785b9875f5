/*-------------------------------------------------------------------------
 *
 * leftovers.h
 *		Kills processes that a killed child left outside its process group.
 *
 * A descendant that made its own session survives the kill of the group.  Once
 * its parent is dead, the process table does not show which run it belongs to.
 * Its environment does: it has inherited the token of the run.  So we read
 * /proc/<pid>/environ of all processes, a few per turn, and kill those that
 * carry a token we look for, until a whole pass finds none.
 *
 * The kernel has no simpler means with the same result.  A subreaper
 * (PR_SET_CHILD_SUBREAPER) adopts such a descendant but cannot tell its run,
 * and a killed sidecar adopts no process.  cgroup.kill needs a control group
 * for each run, which only a service manager can delegate to us.
 *
 * One pass serves all tokens: many tasks that pass their deadlines together
 * share one reading of /proc.
 *
 * Limits: a descendant that left the group is not found if it cleared its
 * environment or runs as another user.  A process that survives KILL for some
 * seconds is logged and left alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LEFTOVERS_H
#define TWT_LEFTOVERS_H

#include "base/loop.h"

typedef struct Leftovers Leftovers;

extern Leftovers *leftovers_new(Loop *loop);

/*
 * Kills all processes with the token (copied), and calls done when they are
 * gone or have been given up.
 */
extern void leftovers_kill(Leftovers *leftovers, const char *token,
						   LoopFn done, void *arg);

/* Finishes all hunts and waits for the end of their processes; calls no done. */
extern void leftovers_free(Leftovers *leftovers);

/*
 * Kills the processes of our user that have the token of a dead sidecar, and
 * waits for their end.  When a sidecar dies, the kernel kills only the first
 * process of each of its runs.
 */
extern void leftovers_kill_orphans(Loop *loop);

#endif							/* TWT_LEFTOVERS_H */
