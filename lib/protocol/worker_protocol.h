/*-------------------------------------------------------------------------
 *
 * worker_protocol.h
 *		The lines that a worker process writes.
 *
 *		from: worker_process.c		to: worker_process.c, http_reply.c, results.c
 *
 * Each line is one JSON object; worker_input.h has the lines that the worker reads.
 * The worker may report that it takes up a task,
 *
 *	{"id":"...","version":3,"started":true}
 *
 * and how far it is with a task, from 0 to 100, with a "message" or without,
 *
 *	{"id":"...","version":3,"progress":40,"message":"page 2 of 5"}
 *
 * but need not.  It sends results in any order, such as
 *
 *	{"id":"...","version":3,"result":"done"}
 *
 * Each of these lines may be about several tasks, with "ids" and "versions", two
 * arrays of the same length, in place of "id" and "version".
 *
 * The result is done, delete, retry, repeat, error, accepted, or cancelled for
 * a task that the sidecar asked to stop.  Optional members are "retry_in"
 * (seconds, or a duration such as "10min") or "retry_at" (ISO 8601 with a time
 * zone), "message", "outcome" and "add".  The worker may add members of its own, with
 * any values and more than once.
 *
 * This file does no input or output and reads no clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_PROTOCOL_H
#define TWT_WORKER_PROTOCOL_H

#include "base/foreign_json.h"
#include "protocol/worker_word.h"

/* The longest line from a worker, without its line end. */
#define WORKER_LINE_MAX (1024 * 1024)

/* The longest outcome, as the worker wrote it. */
#define WORKER_OUTCOME_MAX 8192

/*
 * Reads a line without its end; line[len] must be NUL.  Returns what is wrong
 * (palloc'd) with a line that is not JSON, else NULL.  JSON never breaks the
 * protocol: without a task it is WORKER_STRANGE, and faults in a reply are for its
 * tasks alone, as decode_outcome() treats them.
 */
extern char *worker_protocol_decode(const char *line, size_t len,
									WorkerReply *reply) MUSTCHECK;

/*
 * The reply to a line that is too long to be read, of which head is the
 * beginning: an error of the tasks that the head names.  Returns false if it names
 * none.
 */
extern bool worker_protocol_decode_long(const char *head, WorkerReply *reply) MUSTCHECK;

/* Frees the texts of a reply that was read, whether it was right or not. */
extern void worker_protocol_clear(WorkerReply *reply);

/*
 * For handlers that get such an object in another way, without id and version.
 * load_outcome() is foreign_json_load() with the names of our members,
 * "result" first.  has_result() tells whether "result" is a known result.
 * decode_outcome() reads the object, whose text is json: it returns the fault
 * (palloc'd) or NULL, and the caller clears the reply either way.  With a fault in
 * what is only told or waited for, the result counts; with one in the result, the
 * outcome or the tasks to add, the result is TASK_ERROR, since the work is done.
 */
extern json_t *worker_protocol_load_outcome(const char *json, size_t len,
											ForeignJsonFault *fault) MUSTCHECK;
extern bool worker_protocol_has_result(const json_t *object);
extern char *worker_protocol_decode_outcome(const json_t *object, const char *json,
											WorkerReply *reply) MUSTCHECK;

#endif							/* TWT_WORKER_PROTOCOL_H */
