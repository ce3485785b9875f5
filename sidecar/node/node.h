/*-------------------------------------------------------------------------
 *
 * node.h
 *		This start of the sidecar in the eyes of the database.
 *
 * A start has an incarnation, a number that is never used again.  It lives
 * as long as the control connection, or one that follows it soon, is there
 * and ticks.  When it was declared gone its tasks belong to others: whatever
 * runs must end, and a new incarnation begins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NODE_H
#define TWT_NODE_H

#include "base/loop.h"
#include "config/config.h"
#include "pg/pg.h"

typedef struct Node Node;

typedef struct NodeEvents
{
	/* A new incarnation began: look at everything. */
	void		(*on_begin) (void *arg);

	/* The incarnation was declared gone. */
	void		(*on_gone) (void *arg);

	/* This node became the leader, or is no longer. */
	void		(*on_leader) (void *arg, bool is_leader);

	/* The database's clock has jumped: what is due may be another thing. */
	void		(*on_clock) (void *arg);

	/*
	 * The configuration in the database is to be read: after each connect,
	 * and when it has changed.  The control connection is up.
	 */
	void		(*on_config) (void *arg);

	/*
	 * each tick: whether there is work, and when the next thing is due, in
	 * microseconds; -1: nothing
	 */
	void		(*on_look) (void *arg, bool has_work, int64 next_us);

	/*
	 * Tasks that run may have to be cancelled: after each connect, and when
	 * somebody has asked for that.
	 */
	void		(*on_cancel) (void *arg);

	/* a notification with triggers came, after node_listen() */
	void		(*on_triggers) (void *arg, const char *payload);

	/* one about slots of a limit of the whole cluster */
	void		(*on_slots) (void *arg, const char *payload);
} NodeEvents;

extern Node *node_open(Loop *loop, const Config *config,
					   const NodeEvents *events, void *arg);

/* Tells the database, then calls done(arg); after 2 s without an answer too. */
extern void node_end(Node *node, LoopFn done, void *arg);
extern void node_free(Node *node);

/* The control connection, for duties: for what waits for nobody. */
extern Pg  *node_pg(const Node *node);

/* Without word of ended sessions it ticks more often. */
extern void node_set_watchful(Node *node, bool watchful);

/*
 * The queue of a bucket may not be the one in shared memory, when that has no
 * room: its triggers come by notifications, to on_triggers.
 */
extern void node_listen(Node *node);

/* Ticks now: another node may have ended, which may have led. */
extern void node_look(Node *node);

/* 0 while there is none. */
extern int64 node_incarnation(const Node *node);

/*
 * Whether the database has confirmed this incarnation within its lease.  Not
 * after a pause of the process or a cut network: then nothing may be started
 * before it has answered again.
 */
extern bool node_is_alive(const Node *node);

/*
 * The incarnation under which what was grabbed some time ago may be started
 * now; 0: nothing may.  It is alive, and has been confirmed since the control
 * connection came up: others wait for one that is cut less long than the lease.
 */
extern int64 node_may_start(const Node *node);

/* When the lease that the database has confirmed ends, by the loop's clock. */
extern int64 node_lease_end_us(const Node *node);

/* Why the database lets this node execute nothing; NULL: it does not refuse. */
extern const char *node_refusal(const Node *node);

/* A number never used before with this incarnation. */
extern int64 node_next_token(Node *node);

extern bool node_is_leader(const Node *node);

/* This is number place of so many living nodes. */
extern void node_share(const Node *node, int *place, int *nodes);

#endif							/* TWT_NODE_H */
