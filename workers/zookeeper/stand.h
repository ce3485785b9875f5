/*-------------------------------------------------------------------------
 *
 * stand.h
 *		What a sidecar and its candidate tell each other.
 *
 *		from: main.c			to: candidacy.h
 *
 * After the hello the sidecar lets the candidate stand for election until a
 * time, and repeats that with later times:
 *
 *	{"stand_until_ms": TIME}
 *
 * The candidate writes a word when something changes, and also every 2 s, or
 * after a sixth of the session's time if that is shorter:
 *
 *	{"leads": true or false, "until_ms": TIME}		what ZooKeeper decided
 *	{"leads": null}									that is not known
 *
 * Both times are of CLOCK_BOOTTIME, which both processes read.  So nothing that
 * one of them said holds longer because the other one, or a pipe, stood still.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STAND_H
#define TWT_STAND_H

#include "base/loop.h"
#include "workers/zookeeper/zk_settings.h"

typedef struct Stand Stand;

/* Appends its words to words. */
extern Stand *stand_new(Loop *loop, StringInfo words);

/* Takes over the settings.  Later ones can change only the log. */
extern void stand_set(Stand *stand, ZkSettings *settings);

/* Takes a line of the sidecar, after settings; ignores lines that it does not know. */
extern void stand_take(Stand *stand, const char *line);

extern void stand_free(Stand *stand);

#endif							/* TWT_STAND_H */
