/*-------------------------------------------------------------------------
 *
 * candidacy.h
 *		One candidate of a group's election by ZooKeeper.
 *
 *		from: stand.c			to: zk_session.h
 *
 * Each candidate creates an ephemeral sequential node under
 * /twtasks/GROUP/leader, whose name has a GUID of the session.  The lowest
 * number leads, and each other candidate watches the node before its own.
 * When the answer to a create is lost, the GUID identifies the node.
 *
 * A result of the election holds only while the session certainly lives: until
 * two thirds of the session's timeout after the last answered request was sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CANDIDACY_H
#define TWT_CANDIDACY_H

#include "base/loop.h"
#include "workers/zookeeper/zk_settings.h"

typedef struct Candidacy Candidacy;

typedef enum Standing
{
	STANDING_UNKNOWN,
	STANDING_FIRST,				/* this candidate leads */
	STANDING_BEHIND				/* another one leads, or a left-over node */
} Standing;

/* on_change(arg) is called after each event; the standing may be another one. */
extern Candidacy *candidacy_new(Loop *loop, const ZkSettings *settings,
								LoopFn on_change, void *arg);

/*
 * Call it several times in the session's timeout: checks that our node still
 * exists.  It begins to stand, or ends the session, as may_stand says.
 */
extern void candidacy_look(Candidacy *candidacy, bool may_stand);

/* Sets the time until which the result holds, unless it is unknown. */
extern Standing candidacy_standing(const Candidacy *candidacy, int64 *until_us);

/* Ends the session, so that the next candidate leads at once. */
extern void candidacy_free(Candidacy *candidacy);

#endif							/* TWT_CANDIDACY_H */
