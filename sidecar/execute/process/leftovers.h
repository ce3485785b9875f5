/*-------------------------------------------------------------------------
 *
 * leftovers.h
 *		Ends what a killed child left behind outside its process group.
 *
 * A descendant that made a session of its own survives the kill of the
 * group, and once its parent is dead nothing in the process table says whose
 * it was.  Its environment does: it inherited the token of the run.  So we
 * read /proc/<pid>/environ of all processes, a few per turn, and kill who
 * carries a token that is looked for, until a whole pass finds nobody.
 *
 * One pass serves all tokens, so that many tasks that pass their deadline
 * together do not each read all of /proc.
 *
 * Limits: a descendant that left the group and also cleared its environment,
 * or runs as another user, is not found; a control group would find it.  Who
 * does not die of KILL within seconds is reported and left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LEFTOVERS_H
#define TWT_LEFTOVERS_H

#include "base/loop.h"

typedef struct Leftovers Leftovers;

extern Leftovers *leftovers_new(Loop *loop);

/*
 * Kills all who carry the token (copied), then calls done, in another
 * callback.
 */
extern void leftovers_kill(Leftovers *leftovers, const char *token,
						   LoopFn done, void *arg);

/* Kills, at once and waiting for it, who is still looked for; calls nobody. */
extern void leftovers_free(Leftovers *leftovers);

/*
 * Kills, at once and waiting for it, what handlers of sidecars that are dead have
 * left running: processes of our user with the token of such a sidecar.  The
 * kernel kills only the first process of a run when its sidecar dies.
 */
extern void leftovers_kill_orphans(Loop *loop);

#endif							/* TWT_LEFTOVERS_H */
