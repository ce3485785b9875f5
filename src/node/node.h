/*-------------------------------------------------------------------------
 *
 * node.h
 *		Whether a node lives; its life is tied to a session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NODE_H
#define TWT_NODE_H

/* Whether the life of some node is, or was, tied to this session. */
extern bool node_is_session(void);

/*
 * Whether the incarnation lives: its row exists and has not ended, as the
 * active snapshot shows it.  If so, name (unless NULL) gets the name of its
 * node.
 */
extern bool node_lives(Datum incarnation, Datum *name);

/*
 * Whether the incarnation may grab: it lives, and a session holds its lock at
 * this moment.  Then other nodes leave its tasks alone for the whole grace
 * period, whatever happens to that session.
 */
extern bool node_may_grab(Datum incarnation, Datum *name);

#endif							/* TWT_NODE_H */
