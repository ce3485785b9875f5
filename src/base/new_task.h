/*-------------------------------------------------------------------------
 *
 * new_task.h
 *		A task that is about to be added.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NEW_TASK_H
#define TWT_NEW_TASK_H

#include "datatype/timestamp.h"

#include "base/shape.h"

#define DEFAULT_PRIORITY 5
#define DEFAULT_BUCKET "default"

/* In the order of add_task()'s parameters and of type twtasks.new_task. */
typedef enum NewField
{
	NEW_TYPE,
	NEW_DATA,
	NEW_SUB_TYPE,
	NEW_KEY,
	NEW_TASK_ID,
	NEW_PRIORITY,
	NEW_RUN_AFTER,
	NEW_BUCKET,
	NEW_EXPIRES,
	NEW_CONTEXT,
	NEW_PAYLOAD,
	NEW_FIELDS
} NewField;

/* The meaning of a key that another task has: see claim.h. */
typedef enum KeyRule
{
	KEY_KEPT,
	KEY_LIVE,
	KEY_REPLACE,
	KEY_REPLACE_DATA
} KeyRule;

extern const Shape new_task_shape;

/* The rule with this name, a text; raises 22023 if there is none. */
extern KeyRule key_rule_of(Datum name);

typedef struct NewTask
{
	Datum		values[NEW_FIELDS];
	bool		nulls[NEW_FIELDS];

	KeyRule		key_rule;		/* not of the type, whose older values are
								 * cast from rows */
	bool		has_limit;		/* the function of its policy has a time limit */

	/* filled by check_new_task() */
	const char *type;
	const char *bucket;
	int			priority;
	TimestampTz run_after;		/* DT_NOBEGIN: at once */
	int32		size;			/* bytes of data, payload and context, with
								 * all digits of their numbers */
	int64		queue_time_us;	/* a task SUBMITTED for longer counts as late */
} NewTask;

#endif							/* TWT_NEW_TASK_H */
