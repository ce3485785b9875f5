/*-------------------------------------------------------------------------
 *
 * connection.c
 *		The connections of a simulated sidecar to the simulated server.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "base/chance.h"
#include "calls/calls.h"
#include "connection.h"
#include "judge.h"
#include "judge_times.h"
#include "pg/pg.h"
#include "server.h"
#include "sim_loop.h"
#include "values.h"
#include "world.h"

#define CONNECT_US SECONDS_TO_US(10)
#define BACKOFF_MIN_US MS_TO_US(50)
#define BACKOFF_MAX_US SECONDS_TO_US(1)

typedef enum PgState
{
	STATE_NEW,					/* also at rest */
	STATE_WAITING,
	STATE_CONNECTING,
	STATE_UP
} PgState;

typedef struct Call
{
	dlist_node	node;
	int64		id;
	const PgStatement *statement;
	WireParams	params;			/* until the call is sent */
	int64		waits_us;
	PgResultFn	fn;
	void	   *arg;
} Call;

struct Pg
{
	dlist_node	node;
	Process    *process;
	char	   *role;
	PgStateFn	on_state;
	PgNotifyFn	on_notify;
	void	   *arg;
	PgState		state;
	bool		is_failing;
	LoopTimer  *timer;			/* the next attempt, the end of one, or rest */
	LoopTimer  *silence;		/* gives the session up */
	int64		patience_us;
	int64		backoff_us;
	int64		rest_us;		/* 0: it never rests */
	int64		used_us;
	int64		waits_us;		/* the next call waits on purpose */
	Session    *session;
	Event	   *connecting;
	int			former;			/* the pid of a session that was given up; 0:
								 * none */
	dlist_head	inbox;
	dlist_head	sent;
	dlist_head	held;
	int			ncalls;
};

/* Something that has come over the network, until the loop takes it. */
typedef struct Arrival
{
	dlist_node	node;
	void		(*take) (Pg *pg, struct Arrival *arrival);
	int64		call;
	const char *state;
	PGresult   *result;
	char	   *channel;
	char	   *payload;
} Arrival;

static int64 last_call;
static int64 cut_us[MACHINES];	/* the network is cut until then */

static void start_attempt(Pg *pg);

static Loop *
loop_of(const Pg *pg)
{
	return pg->process->loop;
}

/* ---- down ---- */

static void
lose_calls(Pg *pg, dlist_head *calls)
{
	while (!dlist_is_empty(calls))
	{
		Call	   *call = dlist_container(Call, node, dlist_pop_head_node(calls));
		PgResultFn	fn = call->fn;
		void	   *arg = call->arg;

		pg->ncalls--;
		wire_clear(&call->params);
		pfree(call);
		world_count(REACHED_LOST_CALLS);
		if (fn != NULL)
			fn(arg, PG_LOST, NULL);
	}
}

static void
free_arrival(Arrival *arrival)
{
	PQclear(arrival->result);
	pfree(arrival->channel);
	pfree(arrival->payload);
	pfree(arrival);
}

/* The client reads no more: its messages are lost. */
static void
drop_session(Pg *pg)
{
	sim_loop_forget(loop_of(pg), pg);
	while (!dlist_is_empty(&pg->inbox))
		free_arrival(dlist_container(Arrival, node, dlist_pop_head_node(&pg->inbox)));
	if (pg->connecting != NULL)
		world_cancel(pg->connecting);
	pg->connecting = NULL;
	if (pg->session != NULL)
		session_leave(pg->session);
	pg->session = NULL;
}

static void
go_down(Pg *pg, const char *why)
{
	bool		was_up = pg->state == STATE_UP;

	world_tell("%s: %s is down: %s", pg->process->name, pg->role, why);
	drop_session(pg);
	pg->state = STATE_WAITING;
	pg->is_failing = true;
	loop_timer_stop(pg->silence);
	loop_timer_start(pg->timer, chance_delay(pg->backoff_us));
	pg->backoff_us = Min(pg->backoff_us * 2, BACKOFF_MAX_US);
	lose_calls(pg, &pg->sent);
	lose_calls(pg, &pg->held);
	if (was_up && pg->on_state != NULL)
		pg->on_state(pg->arg, false);
}

static void
on_silent(void *arg)
{
	Pg		   *pg = arg;

	pg->former = pg->session == NULL ? 0 : session_pid(pg->session);
	go_down(pg, "no answer");
}

/* Calls are under way: watches for the answer to the oldest. */
static void
watch_silence(Pg *pg)
{
	if (dlist_is_empty(&pg->sent))
		loop_timer_stop(pg->silence);
	else
		loop_timer_start(pg->silence, pg->patience_us + dlist_head_element(Call, node, &pg->sent)->waits_us);
}

/* ---- messages of the server ---- */

static void
take_answer(Pg *pg, Arrival *arrival)
{
	Call	   *call = dlist_is_empty(&pg->sent) ? NULL : dlist_head_element(Call, node, &pg->sent);

	if (call == NULL || call->id != arrival->call)
		world_fail("%s: %s gets an answer to no call", pg->process->name, pg->role);
	dlist_delete(&call->node);
	pg->ncalls--;
	pg->backoff_us = BACKOFF_MIN_US;
	watch_silence(pg);
	if (call->fn != NULL)
		call->fn(call->arg, arrival->state == NULL ? PG_DONE : PG_FAILED, arrival->result);
	pfree(call);
}

static void
take_notification(Pg *pg, Arrival *arrival)
{
	if (pg->on_notify != NULL)
		pg->on_notify(pg->arg, arrival->channel, arrival->payload);
}

static void
take_end(Pg *pg, Arrival *arrival)
{
	go_down(pg, "the server closed it");
}

static void
take_next(void *arg)
{
	Pg		   *pg = arg;
	Arrival    *arrival = dlist_container(Arrival, node, dlist_pop_head_node(&pg->inbox));

	arrival->take(pg, arrival);
	free_arrival(arrival);
}

static Arrival *
add_arrival(Pg *pg, void (*take) (Pg *pg, Arrival *arrival))
{
	Arrival    *arrival = palloc0(sizeof(Arrival));

	arrival->take = take;
	dlist_push_tail(&pg->inbox, &arrival->node);
	sim_loop_call(loop_of(pg), take_next, pg);
	return arrival;
}

/* An error has its SQLSTATE as a value: PQresultErrorField() finds it there. */
static PGresult *
make_error(const char *state)
{
	PGresAttDesc column = {.name = "sqlstate"};
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);

	if (!PQsetResultAttrs(result, 1, &column) || !PQsetvalue(result, 0, 0, unconstify(char *, state), 5))
		world_fail("out of memory");
	return result;
}

static void
on_answer(void *arg, int64 call, const char *state, PGresult *result)
{
	Arrival    *arrival = add_arrival(arg, take_answer);

	arrival->call = call;
	arrival->state = state;
	arrival->result = state == NULL ? result : make_error(state);
}

static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Arrival    *arrival = add_arrival(arg, take_notification);

	arrival->channel = pstrdup(channel);
	arrival->payload = pstrdup(payload);
}

/* The session is gone; the client reads what came before that. */
static void
on_end(void *arg)
{
	Pg		   *pg = arg;

	pg->session = NULL;
	if (pg->state == STATE_UP)
		(void) add_arrival(pg, take_end);
}

static const SessionEvents session_events = {on_answer, on_notify, on_end};

/* ---- up ---- */

static void
transmit(Pg *pg, Call *call)
{
	ServerCall	copy = {
		.id = call->id, .statement = call->statement, .params = call->params, .sent_us = world_now_us()
	};

	dlist_push_tail(&pg->sent, &call->node);
	if (pg->session == NULL)
		return;					/* nobody there: a lost call, soon */
	call->params.n = 0;
	session_send(pg->session, &copy);
	watch_silence(pg);
}

static void
send_held(Pg *pg)
{
	while (!dlist_is_empty(&pg->held))
		transmit(pg, dlist_container(Call, node, dlist_pop_head_node(&pg->held)));
}

static void
take_up(void *arg)
{
	Pg		   *pg = arg;

	if (pg->session == NULL)
	{
		go_down(pg, "refused");
		return;
	}
	pg->state = STATE_UP;
	pg->is_failing = false;
	loop_timer_stop(pg->timer);
	if (pg->rest_us > 0)
		loop_timer_start(pg->timer, pg->rest_us);
	if (pg->former != 0)
		server_terminate(pg->former);
	pg->former = 0;
	send_held(pg);
	if (pg->on_state != NULL)
		pg->on_state(pg->arg, true);
}

static void
on_set_up(void *arg)
{
	Pg		   *pg = arg;

	pg->connecting = NULL;
	sim_loop_call(loop_of(pg), take_up, pg);
}

static void
on_reached(void *arg)
{
	Pg		   *pg = arg;
	int64		left_us = cut_us[pg->process->machine] - world_now_us();

	pg->connecting = NULL;
	if (left_us > 0)
	{
		pg->connecting = world_after(left_us, on_reached, pg);
		return;
	}
	pg->session = server_connect(pg->process->name, &session_events, pg);
	pg->connecting = world_after(world_between(200, 2000), on_set_up, pg);
}

static void
start_attempt(Pg *pg)
{
	pg->state = STATE_CONNECTING;
	loop_timer_start(pg->timer, CONNECT_US);
	pg->connecting = world_after(world_between(300, acts_happens(HABIT_SLOW_NETWORK, 50) ? SECONDS_TO_US(2) : MS_TO_US(10)),
								 on_reached, pg);
}

static void
look_for_rest(Pg *pg)
{
	int64		left_us = pg->used_us + pg->rest_us - world_now_us();

	if (pg->ncalls > 0 || left_us > 0)
	{
		loop_timer_start(pg->timer, pg->ncalls > 0 ? pg->rest_us : left_us);
		return;
	}
	drop_session(pg);
	pg->state = STATE_NEW;
}

static void
on_timer(void *arg)
{
	Pg		   *pg = arg;

	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		start_attempt(pg);
	else if (pg->state == STATE_UP && pg->rest_us > 0)
		look_for_rest(pg);
	else
		go_down(pg, "could not connect in time");
}

/* ---- faults ---- */

void
connection_cut(int machine, int64 us)
{
	Process    *process = process_on(machine);
	dlist_iter	iter;

	cut_us[machine] = Max(cut_us[machine], world_now_us() + us);
	if (process == NULL)
		return;
	dlist_foreach(iter, &process->connections)
	{
		const Pg   *pg = dlist_container(Pg, node, iter.cur);

		if (pg->session != NULL)
			session_silence(pg->session, us);
	}
}

void
connection_heal(int machine)
{
	cut_us[machine] = 0;
}

/* The loop hears of it as of any other end; what is on its way is lost. */
void
connection_break(Process *process)
{
	Pg		   *found = NULL;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &process->connections)
	{
		Pg		   *pg = dlist_container(Pg, node, iter.cur);

		if (pg->state == STATE_UP && pg->session != NULL && world_between(0, n++) == 0)
			found = pg;
	}
	if (found == NULL)
		return;
	act_tell("the network breaks %s of %s", found->role, process->name);
	session_leave(found->session);
	on_end(found);
}

void
connection_drop(Process *process)
{
	dlist_iter	iter;

	dlist_foreach(iter, &process->connections)
		drop_session(dlist_container(Pg, node, iter.cur));
}

/* ---- pg.h ---- */

Pg *
pg_new(Loop *loop, const char *conninfo, const char *role, PgStateFn on_state, void *arg)
{
	Pg		   *pg = palloc0(sizeof(Pg));

	pg->process = sim_loop_process(loop);
	pg->role = pstrdup(role);
	pg->on_state = on_state;
	pg->arg = arg;
	pg->timer = loop_timer_new(loop, on_timer, pg);
	pg->silence = loop_timer_new(loop, on_silent, pg);
	pg->patience_us = PG_GIVE_UP_US;
	pg->backoff_us = BACKOFF_MIN_US;
	dlist_init(&pg->inbox);
	dlist_init(&pg->sent);
	dlist_init(&pg->held);
	dlist_push_tail(&pg->process->connections, &pg->node);
	return pg;
}

void
pg_start(Pg *pg)
{
	if (pg->state == STATE_NEW)
		start_attempt(pg);
}

void
pg_rest_after(Pg *pg, int64 us)
{
	pg->rest_us = us;
}

void
pg_give_up_within(Pg *pg, int64 us)
{
	pg->patience_us = Min(PG_GIVE_UP_US, us);
}

void
pg_expect_wait(Pg *pg, int64 us)
{
	pg->waits_us = us;
}

char *
pg_silent(void)
{
	return NULL;
}

const char *
pg_misfit(int64 now_us)
{
	return NULL;
}

void
pg_close(Pg *pg)
{
	pg->state = STATE_NEW;
	drop_session(pg);
	lose_calls(pg, &pg->sent);
	lose_calls(pg, &pg->held);
	loop_timer_free(pg->timer);
	loop_timer_free(pg->silence);
	dlist_delete(&pg->node);
	pfree(pg->role);
	pfree(pg);
}

bool
pg_is_up(const Pg *pg)
{
	return pg->state == STATE_UP;
}

bool
pg_is_failing(const Pg *pg)
{
	return pg->is_failing;
}

int
pg_in_flight(const Pg *pg)
{
	return pg->ncalls;
}

int
pg_backend_pid(const Pg *pg)
{
	return pg->session == NULL ? 0 : session_pid(pg->session);
}

const char *
pg_login(const Pg *pg)
{
	return "simulated";
}

void
pg_add_addresses(const Pg *pg, WireParams *params)
{
	wire_add_array(params, WIRE_TEXT, 1);
	wire_text(params, "simulated:5432/app");
}

void
pg_on_notify(Pg *pg, PgNotifyFn fn)
{
	pg->on_notify = fn;
}

/* The tasks of a grab, in any order: their slots are booked. */
static void
tell_grabbed(const Process *process, const PgStatement *statement, const WireParams *params)
{
	ServerCall	call = {.statement = statement, .params = *params};
	Elements	ids;
	Elements	versions;

	param_array(&call, 0, &ids);
	param_array(&call, 1, &versions);
	for (int i = 0; i < ids.n; i++)
	{
		const Row  *row = model_find(ids.values[i]);

		if (row != NULL)
			order_leave(row);
	}
	for (int i = 0; i < ids.n; i++)
	{
		const Row  *row = model_find(ids.values[i]);

		if (row != NULL)
			judge_ask(process, row, element_int(&versions, i) + 1);
	}
}

void
pg_send(Pg *pg, const PgStatement *statement, WireParams *params, PgResultFn fn, void *arg)
{
	Call	   *call = palloc0(sizeof(Call));

	if (pg->state != STATE_UP && pg->rest_us == 0)
		world_fail("%s sends %s over %s, which is down", pg->process->name, statement->name, pg->role);
	pg->used_us = world_now_us();
	call->id = ++last_call;
	call->statement = statement;
	if (params != NULL)
		call->params = *params;
	call->waits_us = pg->waits_us;
	pg->waits_us = 0;
	call->fn = fn;
	call->arg = arg;
	pg->ncalls++;
	world_tell("%s: %s sends %s", pg->process->name, pg->role, statement->name);
	if (statement == &call_grab || statement == &call_grab_bare)
		tell_grabbed(pg->process, statement, params);
	if (statement == &call_grab && pg->process->ambush_us > 0)
	{
		sim_loop_freeze(loop_of(pg), pg->process->ambush_us);
		pg->process->ambush_us = 0;
	}
	dlist_push_tail(&pg->held, &call->node);
	if (pg->state == STATE_UP)
		send_held(pg);
	else
		pg_start(pg);
}

void
pg_forget(Pg *pg, const void *arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pg->sent)
	{
		Call	   *call = dlist_container(Call, node, iter.cur);

		if (call->arg == arg)
			call->fn = NULL;
	}
}

void
pg_reset(Pg *pg, const char *why)
{
	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		return;
	go_down(pg, why);
}

/* An error of the simulated server has its SQLSTATE as a value. */
char *
PQresultErrorField(const PGresult *result, int field)
{
	static char text[] = "simulated";

	if (result == NULL || PQresultStatus(result) != PGRES_FATAL_ERROR)
		return NULL;
	return field == PG_DIAG_SQLSTATE ? PQgetvalue(result, 0, 0) : field == PG_DIAG_MESSAGE_PRIMARY ? text : NULL;
}
