/*-------------------------------------------------------------------------
 *
 * pipeline.h
 *		The calls of one connection, from sending to their answers.
 *
 *		from: pg.h (pg_send)
 *
 * Private to pg.c.
 *
 * We send each call with its own Sync, so each is its own transaction.  A call
 * has committed only when the answer to that Sync is there.  A statement is
 * prepared when it is first sent, in the same transaction; the server forgets
 * it with the session.  A statement with another before it shares its Sync with
 * that one, so they are one transaction, and a setting that is local to the
 * transaction ends with the call, whatever its outcome.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PIPELINE_H
#define TWT_PIPELINE_H

#include "libpq-fe.h"

#include "pg/statement.h"
#include "pg/wire.h"

#define PREPARED_MAX 64

typedef struct Call
{
	dlist_node	node;
	const PgStatement *statement;
	WireParams	params;			/* empty once the call is sent */
	int			bytes;			/* their size */
	int64		sent_us;
	int64		waits_us;		/* the server waits so long on purpose */
	bool		is_preparing;	/* the next result answers the preparation */
	bool		is_before;		/* the next result answers statement->before */
	bool		failed_before;	/* that result, which is kept, is an error */
	PgResultFn	fn;
	void	   *arg;
	PGresult   *result;			/* kept until the Sync is answered */
} Call;

typedef struct Pipeline
{
	dlist_head	sent;			/* Calls in order */
	dlist_head	held;			/* waiting for a session */
	int			ncalls;			/* in both lists */
	const PgStatement *prepared[PREPARED_MAX];
	int			nprepared;
} Pipeline;

extern void pipeline_init(Pipeline *pipeline);

/* Begins a new session, whose server knows none of our statements yet. */
extern void pipeline_begin(Pipeline *pipeline);

/*
 * Makes a call, which the caller sends or holds next.  Takes the params, if
 * any.
 */
extern Call *pipeline_add(Pipeline *pipeline, const PgStatement *statement,
						  WireParams *params, PgResultFn fn, void *arg);

/* A failure shows when the connection is read. */
extern void pipeline_send(Pipeline *pipeline, PGconn *conn, Call *call);
extern void pipeline_hold(Pipeline *pipeline, Call *call);
extern void pipeline_send_held(Pipeline *pipeline, PGconn *conn, int64 now_us);

/*
 * Whether all sent calls have left and no answer is at hand, so that the next
 * news comes from the server.
 */
extern bool pipeline_is_sent(PGconn *conn);

/*
 * Reads up to the next answer to a Sync, and returns its call; pipeline_end()
 * must follow.  Returns NULL if no further answer has arrived, or if *fault says that
 * the connection is of no use any more.
 */
extern const Call *pipeline_read(Pipeline *pipeline, PGconn *conn, const char **fault);

/* Whether the call that pipeline_read() returned succeeded. */
extern bool pipeline_succeeded(const Call *call);

/*
 * Whether the server answered it.  An error without a SQLSTATE is libpq's own, such as
 * for want of memory: the server may have committed.
 */
extern bool pipeline_is_of_server(const Call *call);

/* Calls back with the outcome of the oldest call, and frees it. */
extern void pipeline_end(Pipeline *pipeline, PgOutcome outcome);

/* Calls back for calls that nobody will answer. */
extern void pipeline_lose_sent(Pipeline *pipeline);
extern void pipeline_lose_held(Pipeline *pipeline);

/* Forgets the callbacks of sent calls with that arg. */
extern void pipeline_forget(Pipeline *pipeline, const void *arg);

#endif							/* TWT_PIPELINE_H */
