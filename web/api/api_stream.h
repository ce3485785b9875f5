/*-------------------------------------------------------------------------
 *
 * api_stream.h
 *		GET /stream: the names of what has changed, for pages that are open.
 *
 *		from: api.c			to: http_stream.h, web/api/sql/stream.sql
 *
 * A page that asks again every few seconds costs the database a statement each time.
 * A stream tells the page when it pays to ask, and has no data of its own, so each
 * route keeps its own rights.
 *
 *	 event			data			the client asks again for
 *	 overview		changed			GET /overview
 *	 task			the id			that task
 *
 * One look at the database serves all streams: every API_STREAM_LOOK_US, while there is
 * a stream, a statement returns a row for each name that is watched.  A name whose row
 * differs from the look before has changed.
 *
 * A stream begins after a look that knows its tasks, and first tells all its names: a
 * client cannot know what happened before.  An answer in memory that is older than
 * the look is forgotten before its event is sent.
 *
 * The history has a partition for each day, so a task in it costs far more than a live
 * one, and seldom changes.  A look reads the history for tasks that were live at the look
 * before or that no look knows.  Each API_STREAM_FULL_US, and after a failure, it reads it
 * for all: a task that was reopened, or added, and ended again between two looks is told
 * then.
 *
 * A look that fails, or takes longer than API_LATE_US, sends each stream the event
 * "down" with the type of its problem, and the looks go on.  After one that succeeds
 * the stream tells all its names again.  Clients that wait for a stream get the problem.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_STREAM_H
#define TWT_API_STREAM_H

#include "web/api/api_cache.h"

#define API_STREAM_LOOK_US SECONDS_TO_US(2)
#define API_STREAM_FULL_US SECONDS_TO_US(30)

/* The most tasks of a stream. */
#define API_STREAM_TASKS 20

/*
 * The most streams of a person.  One more ends the oldest: its client may be gone,
 * which a server learns late.
 */
#define API_STREAMS_OF_ONE 8

/* The columns of a look; see pg/answer.h. */
#define API_STREAM_ANSWER "TTT"

typedef struct ApiStreams ApiStreams;

/*
 * Starts a look at the tasks ids, an array of uuid as text; at those that are ended too
 * only whether they live.  The caller then calls api_streams_take() or
 * api_streams_fail(), now or later.
 */
typedef void (*ApiStreamLook) (void *arg, const char *ids, const char *ended);

extern ApiStreams *api_streams_new(Loop *loop, ApiCache *cache, ApiStreamLook look, void *arg);

/* All streams have ended. */
extern void api_streams_free(ApiStreams *streams);

/* Answers the request, now or later.  ids: an array of uuid as text; NULL: none. */
extern void api_streams_open(ApiStreams *streams, HttpRequest *request, const char *person,
							 const char *ids);

/* Takes the rows of a look: names, states, and where a task is: "live" or "history". */
extern void api_streams_take(ApiStreams *streams, const PGresult *result);

/* The look failed.  The problem stays the caller's. */
extern void api_streams_fail(ApiStreams *streams, const ApiAnswer *problem);

extern int	api_streams_count(const ApiStreams *streams);

#endif							/* TWT_API_STREAM_H */
