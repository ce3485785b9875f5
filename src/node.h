/*-------------------------------------------------------------------------
 *
 * node.h
 *		Whether a node lives.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NODE_H
#define TWT_NODE_H

/*
 * Whether the incarnation may still grab: its row is there and not ended, as
 * the active snapshot shows it.
 */
extern bool node_lives(Datum incarnation);

#endif							/* TWT_NODE_H */
