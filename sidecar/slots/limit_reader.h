/*-------------------------------------------------------------------------
 *
 * limit_reader.h
 *		Reads the limits of the database.
 *
 *		from: policies.h (policies_on)		to: type_limits.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_READER_H
#define TWT_LIMIT_READER_H

#include "base/loop.h"
#include "node/node.h"
#include "node/policies.h"
#include "slots/type_limits.h"

typedef struct LimitReader LimitReader;

/*
 * Reads whenever the configuration in the database is read.  Calls on_missed
 * when an unknown limit, for which tasks were dropped, has become known.
 */
extern LimitReader *limit_reader_open(Policies *policies, Node *node,
									  TypeLimits *limits, LoopFn on_missed, void *arg);

/*
 * A task was dropped for an unknown limit: reads soon.  Takes the LimitReader.
 */
extern void limit_reader_miss(void *reader);

/* Call it after the node is freed: the node's answers come here. */
extern void limit_reader_free(LimitReader *reader);

#endif							/* TWT_LIMIT_READER_H */
