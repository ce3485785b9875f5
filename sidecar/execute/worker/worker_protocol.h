/*-------------------------------------------------------------------------
 *
 * worker_protocol.h
 *		The lines that a worker process reads and writes.
 *
 *		from: execute_worker.c		to: execute_worker.c
 *
 * One JSON object per line.  To the worker goes a task,
 *
 *	{"id":"...","version":3,"type":"...","sub_type":null,"tries":1,
 *	 "deadline":"...","data":{...},"context":{...}}
 *
 * where a raw payload stands as "payload_base64" in the place of "data", or
 * the wish that it stops working on one,
 *
 *	{"cancel":"...","version":3,"reason":"..."}
 *
 * From it comes, when it takes up a task,
 *
 *	{"id":"...","version":3,"started":true}
 *
 * It may leave this line out.  In any order come lines such as
 *
 *	{"id":"...","version":3,"result":"done"}
 *
 * with result one of done, delete, retry, repeat, error, accepted, and
 * cancelled for one that it was asked to stop.  Optional
 * are "retry_in" (seconds, or a duration such as "10min") or "retry_at" (ISO
 * 8601 with a time zone), "message" and "outcome"; other members are for the
 * worker's own use: whatever JSON can say, and as often as they like.
 *
 * Nothing here does input or output or looks at a clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_PROTOCOL_H
#define TWT_WORKER_PROTOCOL_H

#include "base/task.h"
#include "base/foreign_json.h"

/* A line from a worker, its end not counted, is at most this long. */
#define WORKER_LINE_MAX (1024 * 1024)

#define WORKER_NO_TIME PG_INT64_MIN

typedef enum WorkerWord
{
	WORKER_RESULT,				/* a task's */
	WORKER_STARTED,				/* no result yet: it has taken the task up */
	WORKER_READY,				/* it took the hello */
	WORKER_REFUSED				/* it did not; message says why */
} WorkerWord;

typedef struct WorkerReply
{
	WorkerWord	word;
	char		id[TASK_ID_TEXT + 1];
	int64		version;
	TaskResult	result;
	int64		delay_us;		/* retry_in, or TASK_DELAY_BY_POLICY */
	int64		at_us;			/* retry_at since 1970, or WORKER_NO_TIME */
	char	   *message;		/* palloc'd, safe to store; NULL: none */
} WorkerReply;

/*
 * Append one line.  The JSON texts of data and context go out as they are,
 * but for line ends between their tokens, which become spaces.
 */
extern void worker_protocol_encode(StringInfo out, const Task *task,
								   int64 start_by_us);
extern void worker_protocol_encode_cancel(StringInfo out, const Task *task,
										  const char *reason);

/*
 * Reads a line without its end; line[len] must be NUL.  On failure returns
 * what is wrong with the line (palloc'd), else NULL.
 */
extern char *worker_protocol_decode(const char *line, size_t len,
									WorkerReply *reply) MUSTCHECK;

/*
 * For handlers that give such an object in another way: foreign_json_load() with
 * the names of our members, but id and version, "result" first; whether it has a
 * "result" that is one of ours; and all of it but id and version.  Returns the fault
 * (palloc'd), else NULL; message is to be freed either way.
 */
extern json_t *worker_protocol_load_outcome(const char *json, size_t len,
											ForeignJsonFault *fault) MUSTCHECK;
extern bool worker_protocol_has_result(const json_t *object);
extern char *worker_protocol_decode_outcome(const json_t *object,
											WorkerReply *reply) MUSTCHECK;

#endif							/* TWT_WORKER_PROTOCOL_H */
