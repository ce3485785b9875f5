/*-------------------------------------------------------------------------
 *
 * election.h
 *		ZooKeeper's word on which node of a group leads.
 *
 *		from: node.h
 *
 * Each node stands with an ephemeral sequential node under
 * /twtasks/GROUP/leader, whose name has a GUID of the session.  The lowest
 * number leads; each of the others watches the one before it.  A create whose
 * answer was lost is found again by its GUID.
 *
 * The word is worth something only while the session certainly lives.  So a
 * claim ends at two thirds of the session's timeout after the sending of the
 * last request that the server answered.  After `fallback` without an answer
 * PostgreSQL chooses the leader, as it does without ZooKeeper.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ELECTION_H
#define TWT_ELECTION_H

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Election Election;

/*
 * Stands for this node, whose ticks bring the claim to the database.
 * A node that PostgreSQL has not confirmed within its lease could not do a
 * leader's work: it does not stand, so that another node leads.
 */
extern Election *election_open(Loop *loop, const ZooKeeperConfig *config, Node *node);
extern void election_free(Election *election);

#endif							/* TWT_ELECTION_H */
