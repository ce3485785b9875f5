/*-------------------------------------------------------------------------
 *
 * requests.h
 *		A POST for each task.
 *
 *		from: worker_line.h		to: http_client.h
 *
 * Each task that is started gets one reply, a line of the worker protocol, at
 * the end of the turn or later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_REQUESTS_H
#define TWT_REQUESTS_H

#include "base/loop.h"
#include "base/task.h"
#include "workers/http/settings.h"

typedef struct Requests Requests;

/* Replies are appended to what replies points to. */
extern Requests *requests_new(Loop *loop, StringInfo replies);

/* Aborts running requests, without replies. */
extern void requests_free(Requests *requests);

/* Takes the settings, which apply to requests that start or end from now on. */
extern void requests_set(Requests *requests, HttpSettings *settings);

/*
 * Takes the task.  If it was not sent by start_by_us, the reply gives it back.
 */
extern void requests_start(Requests *requests, Task *task, int64 start_by_us);

/* Aborts the request of the task, if it still runs; its reply says why. */
extern void requests_cancel(Requests *requests, const char *id, int64 version,
							const char *why);

#endif							/* TWT_REQUESTS_H */
