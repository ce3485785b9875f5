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
 * Whether the incarnation may still grab: its row exists and has not ended, as
 * the active snapshot shows it.  If so, name (unless NULL) gets the name of
 * its node.
 */
extern bool node_lives(Datum incarnation, Datum *name);

#endif							/* TWT_NODE_H */
