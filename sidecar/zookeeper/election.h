/*-------------------------------------------------------------------------
 *
 * election.h
 *		The election of a group's leader by ZooKeeper, whose words a helper program
 *		brings.
 *
 *		from: node.h			to: helper.h, workers/zookeeper/stand.h
 *
 * twtasks-zookeeper stands for election and says what ZooKeeper decided.  This
 * side makes a claim of its words, which the node's ticks send to the database.
 * After `fallback` without a leader of the election, whatever ZooKeeper answers,
 * PostgreSQL chooses the leader, as it does without ZooKeeper.
 *
 * These rules bound the time in which two nodes may claim the lead:
 *
 *	- A word holds until two thirds of the session's timeout after the request
 *	  that proved it was sent, by the clock of the machine.  ZooKeeper keeps the
 *	  session for the whole timeout.  So a claim ends a third of the timeout before
 *	  another node leads, also when the helper, the pipe or the network stands still.
 *	- A helper that ends takes its word with it at once.
 *	- The helper stands only until a time that this sidecar names, at most the
 *	  requested timeout ahead and never behind the node's lease.  So the
 *	  helper of a sidecar that stands still, or that lost its database, gives way.
 *
 * The third of the timeout is for the next tick, which tells the database.  A tick
 * that takes longer lets two nodes do the same duties, which costs work and does
 * no harm.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ELECTION_H
#define TWT_ELECTION_H

#include <jansson.h>

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Election Election;

/*
 * Stands for election in the name of this node.  A node that PostgreSQL has not
 * confirmed within its lease could not do a leader's work.  It does not stand, so
 * that another node leads.  Returns NULL if the configuration wants no election.
 */
extern Election *election_open(Loop *loop, const Config *config, Node *node);

/* NULL, which stands for no election, is allowed from here on. */

/* The helper follows the settings of the log at once; the others need a restart. */
extern void election_reload(Election *election, const Config *config);

/* Gives way, then calls done(arg), at the latest after some seconds. */
extern void election_end(Election *election, LoopFn done, void *arg);

/* Adds why the helper does not work; nothing: it does. */
extern void election_add_trouble(void *election, json_t *list);

/* Kills the helper if it still runs. */
extern void election_free(Election *election);

#endif							/* TWT_ELECTION_H */
