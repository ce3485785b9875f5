/*-------------------------------------------------------------------------
 *
 * server.h
 *		The simulated server: its sessions, and the calls that they execute.
 *
 * A session executes its calls one after the other, each as one transaction at one
 * moment: model.h says what it does.  The answers go back over the network, in order.
 * A client may be gone while its session still executes what it had sent.  A call that
 * lasts looks for its client now and then, and the session ends without one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "libpq-fe.h"

#include "pg/statement.h"
#include "pg/wire.h"

typedef struct Session Session;

/* A client hears of its session by these, in order. */
typedef struct SessionEvents
{
	/*
	 * state: the SQLSTATE of an error; NULL: the call succeeded.  The result
	 * is the callee's.
	 */
	void		(*on_answer) (void *arg, int64 call, const char *state, PGresult *result);
	void		(*on_notify) (void *arg, const char *channel, const char *payload);
	void		(*on_end) (void *arg);
} SessionEvents;

/* Channels of notifications. */
typedef enum Channel
{
	CHANNEL_TRIGGERS,
	CHANNEL_CANCELS,
	CHANNEL_CONFIG,
	CHANNEL_SLOTS,
	CHANNEL_COUNT
} Channel;

/* A call as the server has it. */
typedef struct ServerCall
{
	dlist_node	node;
	int64		id;				/* the client's */
	const PgStatement *statement;
	WireParams	params;
	int64		sent_us;		/* by the world's clock */
	bool		has_waited;		/* next_triggers, at the end of its time */
	bool		waits_in_vain;	/* for a row, until it fails */
	int64		took_us;
} ServerCall;

/* ---- the client's side ---- */

/* NULL: nobody answers. */
extern Session *server_connect(const char *name, const SessionEvents *events, void *arg) MUSTCHECK;

/* Sends a call, and takes over what params holds. */
extern void session_send(Session *session, const ServerCall *call);

/* The client closes its end, or has died.  The session ends by itself. */
extern void session_leave(Session *session);
extern int	session_pid(const Session *session);

/* As pg_terminate_backend(); a pid that is gone does nothing. */
extern void server_terminate(int pid);

/* As pg_cancel_backend(): the functions of a call end, unless they catch it. */
extern void server_cancel(int pid);

/* ---- faults ---- */

extern bool server_is_up(void);

/* All sessions end, and what was not durable may be undone. */
extern void server_crash(void);
extern void server_restart(void);

/* Calls fn soon after the next grab. */
extern void server_ambush(void (*fn) (void *arg));

/* The server executes nothing for that time. */
extern void server_stall(int64 us);

/* Each call may fail, in so many of a thousand cases. */
extern void server_refuse(int permille);

/* A live session of the process, at random; NULL: it has none. */
extern Session *server_any_session(const char *name) MUSTCHECK;

/* The server ends the session. */
extern void session_end(Session *session);

/* Nothing passes between the session and its client for that time; both stay. */
extern void session_silence(Session *session, int64 us);

/* Ends all sessions, at the end of the run. */
extern void server_close(void);

/* ---- the model's side ---- */

extern void session_listen(Session *session, Channel channel);
extern void server_notify(Channel channel, const char *payload);

/* The incarnation whose life is tied to the session; 0: none. */
extern void session_hold(Session *session, int64 incarnation);
extern bool session_holds(const Session *session, int64 incarnation);
extern bool server_holds(int64 incarnation);

/* Whether the session that holds it executes nothing. */
extern bool server_is_idle(int64 incarnation);

/* The end of a node's session is news for all that wait in next_triggers. */
extern bool session_take_gone(Session *session);

/* Triggers were lost: next_triggers says so, once in each session. */
extern void server_want_sweep(void);
extern bool session_take_sweep(Session *session);

/* By how much a task's retry comes before its time, at most that: a matter of chance. */
extern int64 server_jitter(const uint8 *id, int64 delay_us, int64 most_us);

/* May change the id of a task that a schedule adds. */
extern void server_choose_id(int schedule, int64 occurrence_us, uint8 *id);

/* Lets the sessions that wait for rows go on. */
extern void server_unlock(void);

/* Lets the sessions that wait in next_triggers look again. */
extern void server_wake(void);

#endif							/* SIM_SERVER_H */
