/*-------------------------------------------------------------------------
 *
 * leftovers.h
 *		Ends what a killed child left behind outside its process group.
 *
 * A descendant that made a session of its own survives the kill of the group.
 * Once its parent is dead, nothing in the process table says whose it was.  Its
 * environment does: it inherited the token of the run.  So we read
 * /proc/<pid>/environ of all processes, a few per turn, and kill those that
 * carry a token we look for, until a whole pass finds none.
 *
 * The kernel has no simpler means with the same result.  A subreaper
 * (PR_SET_CHILD_SUBREAPER) adopts such a descendant, but does not learn of which
 * run it is, and a killed sidecar adopts nobody.  cgroup.kill needs a control
 * group for each run, which only a service manager can delegate to us.
 *
 * One pass serves all tokens, so that many tasks that pass their deadline
 * together do not each read all of /proc.
 *
 * Limits: we do not find a descendant that left the group and also cleared its
 * environment, or runs as another user.  A process that does not die of KILL
 * within seconds is reported and left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LEFTOVERS_H
#define TWT_LEFTOVERS_H

#include "base/loop.h"

typedef struct Leftovers Leftovers;

extern Leftovers *leftovers_new(Loop *loop);

/* Kills all processes with the token (copied); later calls done. */
extern void leftovers_kill(Leftovers *leftovers, const char *token,
						   LoopFn done, void *arg);

/* Kills what is still looked for and waits for its end; calls no done. */
extern void leftovers_free(Leftovers *leftovers);

/*
 * Kills what handlers of dead sidecars have left running, and waits for its end:
 * processes of our user with the token of such a sidecar.  The kernel kills only
 * the first process of a run when its sidecar dies.
 */
extern void leftovers_kill_orphans(Loop *loop);

#endif							/* TWT_LEFTOVERS_H */
