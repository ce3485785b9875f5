/*-------------------------------------------------------------------------
 *
 * server.c
 *		The simulated server: its sessions, and the calls that they execute.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "door.h"
#include "model.h"
#include "session.h"
#include "tables.h"

/* How long next_triggers waits: see WAIT_MS of the product. */
#define WAIT_US SECONDS_TO_US(15)

/* So often a call looks for its client: see client_connection_check_interval in lib/pg. */
#define LOOK_US SECONDS_TO_US(5)

static const char *const channel_names[] = {"twtasks", "twtasks_cancel", "twtasks_config", "twtasks_slots"};

typedef struct Server
{
	dlist_head	sessions;
	bool		is_begun;
	bool		is_down;
	int64		stalled_us;		/* until then */
	int			refuses;
	int			last_pid;
	Event	   *wake;
	EventFn		ambush;			/* after the next grab */
} Server;

static Server server;

static void go_on(Session *session);

static void
free_call(ServerCall *call)
{
	wire_clear(&call->params);
	pfree(call);
}

static void
answer(Session *session, const char *state, PGresult *result)
{
	ServerCall *call = session->current;
	Message    *message;

	world_tell("session %d of %s: %s: %s", session->pid, session->name, call->statement->name,
			   state == NULL ? "done" : state);
	session->current = NULL;
	session->waits = false;
	if (session->is_left)
		PQclear(result);
	else
	{
		message = message_send(session, MESSAGE_ANSWER);
		message->call = call->id;
		message->state = state;
		message->result = result;
	}
	free_call(call);
	go_on(session);
}

/* ---- execution ---- */

static void
end_left(void *arg)
{
	Session    *session = arg;

	session->work = NULL;
	session_end(session);
}

static void execute(void *arg);
static void look_for_client(void *arg);

/* The current call goes on at due_us. */
static void
wait_until_due(Session *session)
{
	int64		us = session->due_us - world_now_us();

	session->work = us > LOOK_US ? world_after(LOOK_US, look_for_client, session) : world_after(us, execute, session);
}

/* A client whose network is silent seems to be there. */
static void
look_for_client(void *arg)
{
	Session    *session = arg;

	session->work = NULL;
	if (session->is_left && session->silent_us <= world_now_us())
		session_end(session);
	else
		wait_until_due(session);
}

static void
go_on_after(Session *session, int64 us)
{
	session->due_us = world_now_us() + us;
	wait_until_due(session);
}

/* Whether the call waits for a row, or has failed to get it. */
static bool
waits_for_row(Session *session)
{
	int64		us = locks_wait(session->current);

	session->waits_for_row = us > 0;
	if (us > 0)
		go_on_after(session, us);
	else if (us < 0)
		answer(session, "55P03", NULL);
	return us != 0;
}

static void
execute(void *arg)
{
	Session    *session = arg;
	ServerCall *call = session->current;
	PGresult   *result;
	const char *state = NULL;
	bool		is_lost;

	session->work = NULL;
	if (server.stalled_us > world_now_us())
	{
		session->work = world_after(server.stalled_us - world_now_us() + world_between(0, 5000), execute, session);
		return;
	}
	if (world_happens(server.refuses))
	{
		answer(session, world_happens(500) ? "53200" : "40001", NULL);
		return;
	}
	if (waits_for_row(session))
		return;
	call->has_waited = session->waits;
	is_lost = locks_ambush(call);
	result = model_call(session, call, &state);
	if (is_lost)
	{
		PQclear(result);
		session_end(session);
		return;
	}
	if (server.ambush != NULL && call->statement == &call_grab)
	{
		(void) world_after(world_between(300, MS_TO_US(8)), server.ambush, NULL);
		server.ambush = NULL;
	}
	if (result != NULL || state != NULL)
		answer(session, state, result);
	else
	{
		session->waits = true;
		session->work = session->is_left ? world_after(world_between(0, SECONDS_TO_US(1)), end_left, session) :
			world_after(WAIT_US, execute, session);
	}
}

static int64
service_us(const ServerCall *call)
{
	const PgStatement *statement = call->statement;

	if (statement == &call_execute)
		return functions_us(call);
	if (statement == &call_next_triggers)
		return 20;
	if (acts_happens(HABIT_SLOW_SERVER, 10))
		return world_between(MS_TO_US(10), SECONDS_TO_US(2));
	return world_between(50, 3000);
}

static void
on_arrival(void *arg)
{
	Session    *session = arg;

	session->work = NULL;
	go_on(session);
}

/* Takes the next call, or waits for it. */
static void
go_on(Session *session)
{
	if (session->current != NULL || session->work != NULL || session->has_ended)
		return;
	if (dlist_is_empty(&session->calls))
	{
		/* It reads the end of its connection soon, or late. */
		if (session->is_left)
			session->work = world_after(world_between(0, world_happens(700) ? MS_TO_US(5) : SECONDS_TO_US(4)),
										end_left, session);
		return;
	}
	if (Max(session->arrived_us, session->silent_us) > world_now_us() && !session->is_left)
	{
		session->work = world_after(Max(session->arrived_us, session->silent_us) - world_now_us(), on_arrival, session);
		return;
	}
	session->current = dlist_container(ServerCall, node, dlist_pop_head_node(&session->calls));
	session->current->took_us = service_us(session->current);
	go_on_after(session, session->current->took_us);
}

static void
look_at_waiting(void *arg)
{
	dlist_mutable_iter iter;

	server.wake = NULL;

	dlist_foreach_modify(iter, &server.sessions)
	{
		Session    *session = dlist_container(Session, node, iter.cur);

		if (!session->waits || session->is_left)
			continue;
		world_cancel(session->work);
		session->waits = false;
		execute(session);
	}
}

void
server_unlock(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &server.sessions)
	{
		Session    *session = dlist_container(Session, node, iter.cur);

		if (!session->waits_for_row)
			continue;
		world_cancel(session->work);
		session->waits_for_row = false;
		session->work = world_after(world_between(0, 300), execute, session);
	}
}

void
server_wake(void)
{
	if (server.wake == NULL)
		server.wake = world_after(world_between(0, 300), look_at_waiting, NULL);
}

/* ---- the client's side ---- */

Session *
server_connect(const char *name, const SessionEvents *events, void *arg)
{
	Session    *session;

	if (!server.is_begun)
		dlist_init(&server.sessions);
	server.is_begun = true;

	if (server.is_down)
		return NULL;
	session = palloc0(sizeof(Session));
	session->pid = ++server.last_pid;
	strlcpy(session->name, name, sizeof(session->name));
	session->events = events;
	session->arg = arg;
	dlist_init(&session->calls);
	dlist_init(&session->messages);
	dlist_push_tail(&server.sessions, &session->node);
	return session;
}

void
session_send(Session *session, const ServerCall *call)
{
	ServerCall *copy;

	if (session->has_ended)
	{
		WireParams	params = call->params;

		wire_clear(&params);
		return;
	}
	copy = palloc(sizeof(ServerCall));
	*copy = *call;
	dlist_push_tail(&session->calls, &copy->node);
	session->arrived_us = Max(session->arrived_us, world_now_us() + (acts_happens(HABIT_SLOW_NETWORK, 20) ?
																	 world_between(0, MS_TO_US(300)) :
																	 world_between(30, 300)));
	go_on(session);
}

/* Each call that the client has sent may have arrived, and all before it. */
static void
drop_calls(Session *session)
{
	bool		is_cut = session->silent_us > world_now_us() || world_happens(300);
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &session->calls)
	{
		ServerCall *call = dlist_container(ServerCall, node, iter.cur);

		is_cut |= world_happens(200);
		if (!is_cut)
			continue;
		dlist_delete(&call->node);
		free_call(call);
	}
}

void
session_leave(Session *session)
{
	session->is_left = true;
	messages_drop(session);
	if (session->has_ended)
	{
		session_free(session);
		return;
	}
	drop_calls(session);
	if (session->waits)
	{
		world_cancel(session->work);
		session->work = world_after(world_between(0, SECONDS_TO_US(1)), end_left, session);
	}
	if (session->current == NULL && session->work != NULL)
	{
		world_cancel(session->work);
		session->work = NULL;
	}
	go_on(session);
}

int
session_pid(const Session *session)
{
	return session->pid;
}

/* The live session with that pid, or that incarnation; 0: any. */
static Session *
find_session(int pid, int64 incarnation)
{
	dlist_iter	iter;

	dlist_foreach(iter, &server.sessions)
	{
		Session    *session = dlist_container(Session, node, iter.cur);

		if ((pid == 0 || session->pid == pid) && (incarnation == 0 || session->incarnation == incarnation))
			return session;
	}
	return NULL;
}

/* A sidecar that has just lost a session may name 0, which is no backend. */
static Session *
session_of_backend(int pid)
{
	return pid == 0 ? NULL : find_session(pid, 0);
}

void
server_terminate(int pid)
{
	Session    *session = session_of_backend(pid);

	if (session != NULL)
		session_end(session);
}

void
server_cancel(int pid)
{
	Session    *session = session_of_backend(pid);

	if (session == NULL || session->current == NULL || session->current->statement != &call_execute ||
		session->work == NULL || world_happens(200))
		return;
	world_cancel(session->work);
	session->work = NULL;
	answer(session, "57014", NULL);
}

/* ---- faults ---- */

void
session_end(Session *session)
{
	dlist_iter	iter;

	session->has_ended = true;
	door_remove(session->pid);
	dlist_delete(&session->node);
	if (session->work != NULL)
		world_cancel(session->work);
	session->work = NULL;
	if (session->current != NULL)
		free_call(session->current);
	session->current = NULL;
	while (!dlist_is_empty(&session->calls))
		free_call(dlist_container(ServerCall, node, dlist_pop_head_node(&session->calls)));
	if (session->incarnation != 0)
	{
		dlist_foreach(iter, &server.sessions)
			dlist_container(Session, node, iter.cur)->is_gone_told = true;
		server_wake();
	}
	if (session->is_left)
		session_free(session);
	else
		(void) message_send(session, MESSAGE_END);
}

bool
server_is_up(void)
{
	return !server.is_down;
}

static void
end_all(void)
{
	while (!dlist_is_empty(&server.sessions))
		session_end(dlist_head_element(Session, node, &server.sessions));
}

void
server_crash(void)
{
	server.is_down = true;

	end_all();
	model_crash();
}

void
server_restart(void)
{
	server.is_down = false;
}

void
server_ambush(EventFn fn)
{
	server.ambush = fn;
}

void
server_stall(int64 us)
{
	server.stalled_us = world_now_us() + us;
}

void
server_refuse(int permille)
{
	server.refuses = permille;
}

Session *
server_any_session(const char *name)
{
	Session    *found = NULL;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &server.sessions)
	{
		Session    *session = dlist_container(Session, node, iter.cur);

		if (session->is_left || strcmp(session->name, name) != 0)
			continue;
		if (world_between(0, n++) == 0)
			found = session;
	}
	return found;
}

void
session_silence(Session *session, int64 us)
{
	session->silent_us = world_now_us() + us;
}

void
server_close(void)
{
	if (!dlist_is_empty(&server.sessions))
		world_fail("session %d of %s is left on the server", dlist_head_element(Session, node, &server.sessions)->pid,
				   dlist_head_element(Session, node, &server.sessions)->name);
}

/* ---- the model's side ---- */

void
session_listen(Session *session, Channel channel)
{
	session->listens[channel] = true;
}

void
server_notify(Channel channel, const char *payload)
{
	dlist_iter	iter;

	dlist_foreach(iter, &server.sessions)
	{
		Session    *session = dlist_container(Session, node, iter.cur);
		Message    *message;

		if (!session->listens[channel] || session->is_left)
			continue;
		message = message_send(session, MESSAGE_NOTIFY);
		message->channel = channel_names[channel];
		message->payload = pstrdup(payload);
	}
}

static Session *
holder(int64 incarnation)
{
	return find_session(0, incarnation);
}

void
session_hold(Session *session, int64 incarnation)
{
	session->incarnation = incarnation;
}

bool
session_holds(const Session *session, int64 incarnation)
{
	return session->incarnation == incarnation;
}

bool
server_holds(int64 incarnation)
{
	return holder(incarnation) != NULL;
}

bool
server_is_idle(int64 incarnation)
{
	return holder(incarnation) != NULL && holder(incarnation)->current == NULL;
}

bool
session_take_gone(Session *session)
{
	bool		is_told = session->is_gone_told;

	session->is_gone_told = false;
	return is_told;
}

void
server_want_sweep(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &server.sessions)
		dlist_container(Session, node, iter.cur)->wants_sweep = true;
	server_wake();
}

bool
session_take_sweep(Session *session)
{
	bool		wants = session->wants_sweep;

	session->wants_sweep = false;
	return wants;
}

/* The id of the row is as good as any. */
void
server_choose_id(int schedule, int64 occurrence_us, uint8 *id)
{
}

/* The server rounds delays to whole milliseconds. */
int64
server_jitter(const uint8 *id, int64 delay_us, int64 most_us)
{
	return delay_us - (delay_us - world_between(0, most_us)) / 1000 * 1000;
}
