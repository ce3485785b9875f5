/*-------------------------------------------------------------------------
 *
 * node.h
 *		Keeps this start of the sidecar registered in the database.
 *
 * Each start has an incarnation, a number that is never used again.  The
 * incarnation lives as long as the control connection ticks; a lost connection
 * must be replaced soon.  When the database declares an incarnation gone, its
 * tasks belong to other nodes.  Then all running tasks here must end, and a
 * new incarnation begins.
 *
 * Other nodes take the tasks of a node whose session has ended after a grace of
 * 3 s, and this node may not hear of that end.  So a task starts only while the
 * last proof that the session was in place is younger than that.  Each tick and
 * each grab is such a proof, by the time at which it was sent.  Hence a task
 * that starts as soon as its grab is answered needs no other proof.
 *
 * While another transaction locks the incarnation's row in the database, no tick
 * can confirm it, and no node can declare it gone.  So an incarnation of which
 * nothing runs is left after half a lease, and a new one begins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NODE_H
#define TWT_NODE_H

#include "base/loop.h"
#include "config/config.h"
#include "node/task_clock.h"
#include "pg/pg.h"

typedef struct Node Node;

typedef struct NodeEvents
{
	/* A new incarnation began: look at everything. */
	void		(*on_begin) (void *arg);

	/* The incarnation was declared gone, or was left. */
	void		(*on_gone) (void *arg);

	/* Whether nothing of the incarnation runs, and no outcome is under way. */
	bool		(*is_idle) (void *arg);

	/* This node became the leader, or is no longer. */
	void		(*on_leader) (void *arg, bool is_leader);

	/*
	 * The incarnation goes on with a new session.  Grabs between the two
	 * sessions may have found nothing.
	 */
	void		(*on_return) (void *arg);

	/* The database's clock has jumped: other tasks may be due now. */
	void		(*on_clock) (void *arg);

	/*
	 * Read the configuration in the database: after each connect and each
	 * change.  The control connection is up.
	 */
	void		(*on_config) (void *arg);

	/*
	 * Each tick: whether there is work, and the microseconds until the next
	 * task or schedule is due; -1: none.
	 */
	void		(*on_look) (void *arg, bool has_work, int64 next_us);

	/*
	 * Read the cancel requests: after each connect, and after a notification.
	 */
	void		(*on_cancel) (void *arg);

	/* a notification with triggers */
	void		(*on_triggers) (void *arg, const char *payload);

	/* a notification about slots of a cluster-wide limit */
	void		(*on_slots) (void *arg, const char *payload);
} NodeEvents;

/* Whether this node shall lead, if an election outside the database decides. */
typedef enum NodeClaim
{
	CLAIM_NONE,					/* no election: the database chooses */
	CLAIM_LEAD,
	CLAIM_FOLLOW
} NodeClaim;

/* sees_leader: by the last tick another node leads, and ticks in time. */
typedef NodeClaim (*NodeClaimFn) (void *arg, bool sees_leader);

extern Node *node_open(Loop *loop, const Config *config,
					   const NodeEvents *events, void *arg);

/*
 * Tells the database that the node ends, then calls done(arg), at the latest
 * after 2 s.
 */
extern void node_end(Node *node, LoopFn done, void *arg);
extern void node_free(Node *node);

/* Sets a function that each tick calls for the claim.  Default: CLAIM_NONE. */
extern void node_on_claim(Node *node, NodeClaimFn fn, void *arg);

/* The control connection, for statements that never wait for locks. */
extern Pg  *node_pg(const Node *node);

/*
 * How triggers reach this node.  With QUEUE_RING the node also takes
 * notifications of triggers: the shared memory may have no room for the queue
 * of a bucket.  With QUEUE_NOTIFY ended sessions are not reported, so the node
 * ticks more often.
 */
extern void node_set_queue(Node *node, QueueKind queue);

/* Ticks now: another node, perhaps the leader, may have ended. */
extern void node_look(Node *node);

/* The current incarnation; 0: none. */
extern int64 node_incarnation(const Node *node);

/*
 * Whether the database has confirmed this incarnation within its lease.  After
 * a pause of the process or a network failure it has not, and no task may
 * start before the database answers again.
 */
extern bool node_is_alive(const Node *node);

/*
 * The incarnation under which tasks may be grabbed; 0: none may.  It requires
 * that the node is alive, and that the database has confirmed it since the
 * control connection came up.
 */
extern int64 node_may_start(const Node *node);

/*
 * The incarnation under which a grabbed task may start at this moment; 0: none
 * may, and the node ticks if that can help.
 */
extern int64 node_start_now(Node *node);

/* A grab that was sent then has won tasks, which proves the session. */
extern void node_prove(Node *node, int64 sent_us);

/* When the confirmed lease ends, by the loop's clock. */
extern int64 node_lease_end_us(const Node *node);

/* When the last tick or start that was confirmed was sent; 0: none was. */
extern int64 node_confirmed_us(const Node *node);

/* Why the database does not let this node execute tasks; NULL: it does. */
extern const char *node_refusal(const Node *node);

/* Whether another transaction locked the row of the incarnation at the last tick. */
extern bool node_is_locked(const Node *node);

/* A number never used before with this incarnation. */
extern int64 node_next_token(Node *node);

extern bool node_is_leader(const Node *node);

/* The database's clock, as the ticks tell it; the node owns it. */
extern TaskClock *node_clock(const Node *node);

/* The place of this node, from 0, and the number of living nodes. */
extern void node_share(const Node *node, int *place, int *nodes);

#endif							/* TWT_NODE_H */
