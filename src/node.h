/*-------------------------------------------------------------------------
 *
 * node.h
 *		A node's life is tied to a session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NODE_H
#define TWT_NODE_H

/* Whether the life of some node is, or was, tied to this session. */
extern bool node_is_session(void);

#endif							/* TWT_NODE_H */
