/*-------------------------------------------------------------------------
 *
 * worker_input.h
 *		The lines that a worker process reads.
 *
 *		from: worker_process.c, given_line.c
 *
 * Each line is one JSON object.  The sidecar sends a task to the worker,
 *
 *	{"id":"...","version":3,"type":"...","sub_type":null,"tries":1,
 *	 "deadline":"...","data":{...},"context":{...}}
 *
 * where "payload_base64" replaces "data" for a raw payload, and "key" follows
 * "sub_type" if the task has a key; or a batch of tasks,
 *
 *	{"tasks":[{"id":"...",...},{"id":"...",...}]}
 *
 * or a request to stop work on a task,
 *
 *	{"cancel":"...","version":3,"reason":"..."}
 *
 * worker_protocol.h has the answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_INPUT_H
#define TWT_WORKER_INPUT_H

#include "base/task.h"

/*
 * Append one line.  The JSON texts of data and context are copied unchanged,
 * except that line ends between their tokens become spaces.
 */
extern void worker_input_add_task(StringInfo out, const Task *task, int64 start_by_us);

/*
 * A batch: one line of any number of tasks.  is_first: begins the line.  Without the
 * end, its length is the length so far.
 */
extern void worker_input_add_to_batch(StringInfo out, const Task *task, int64 start_by_us,
									  bool is_first);
extern void worker_input_end_batch(StringInfo out);

extern void worker_input_add_cancel(StringInfo out, const Task *task, const char *reason);

#endif							/* TWT_WORKER_INPUT_H */
