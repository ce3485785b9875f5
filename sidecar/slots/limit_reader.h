/*-------------------------------------------------------------------------
 *
 * limit_reader.h
 *		Reads the limits that are set in the database.
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
 * Reads the limits whenever the configuration in the database is read.  Calls
 * on_missed after a read that limit_reader_miss() asked for.
 */
extern LimitReader *limit_reader_open(Policies *policies, Node *node,
									  TypeLimits *limits, LoopFn on_missed, void *arg);

/*
 * A task was dropped because its limit was not known: reads the limits soon.
 * The argument is the LimitReader.
 */
extern void limit_reader_miss(void *reader);

/* Call it after the node is freed, since pending answers still use the reader. */
extern void limit_reader_free(LimitReader *reader);

#endif							/* TWT_LIMIT_READER_H */
