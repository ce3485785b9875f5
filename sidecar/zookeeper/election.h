/*-------------------------------------------------------------------------
 *
 * election.h
 *		The election of a group's leader by ZooKeeper.
 *
 *		from: node.h
 *
 * Each candidate creates an ephemeral sequential node under
 * /twtasks/GROUP/leader, whose name has a GUID of the session.  The lowest
 * number leads, and each other candidate watches the node before its own.
 * When the answer to a create is lost, the GUID identifies the node.
 *
 * A result of the election holds only while the session certainly lives.  So a
 * claim ends two thirds of the session's timeout after the last answered
 * request was sent.  After `fallback` without a leader of the election, whatever
 * ZooKeeper answers, PostgreSQL chooses the leader, as it does without ZooKeeper.
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
 * Stands for election in the name of this node, whose ticks send the claim to
 * the database.  A node that PostgreSQL has not confirmed within its lease
 * could not do a leader's work.  It does not stand, so that another node
 * leads.
 */
extern Election *election_open(Loop *loop, const ZooKeeperConfig *config, Node *node);
extern void election_free(Election *election);

#endif							/* TWT_ELECTION_H */
