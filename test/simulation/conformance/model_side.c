/*-------------------------------------------------------------------------
 *
 * model_side.c
 *		Sessions of the model without a network: each call is executed at once.
 *
 * In place of the simulated server and of the judge of its runs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "compare.h"
#include "door.h"
#include "faults.h"
#include "judge.h"
#include "sides.h"

struct Session
{
	bool		is_open;
	int64		incarnation;
	bool		is_gone_told;
	bool		wants_sweep;
};

static Session sessions[SESSIONS];
static StringInfoData news;
static const PGresult *answered;	/* by the server to the same call */

void
model_side_begin(void)
{
	memset(sessions, 0, sizeof(sessions));
	if (news.data == NULL)
		initStringInfo(&news);
	resetStringInfo(&news);
	model_begin(false);
}

void
model_side_connect(int session)
{
	sessions[session] = (Session)
	{
		.is_open = true
	};
}

void
model_side_disconnect(int session)
{
	sessions[session].is_open = false;
}

bool
model_side_has_session(int session)
{
	return sessions[session].is_open;
}

PGresult *
model_side_call(int session, const ServerCall *call, const PGresult *by_server, const char **state)
{
	answered = by_server;
	return model_call(&sessions[session], call, state);
}

StringInfo
model_side_news(void)
{
	return &news;
}

/* ---- the server, as the model calls it ---- */

void
session_listen(Session *session, Channel channel)
{
}

void
server_notify(Channel channel, const char *payload)
{
	if (channel == CHANNEL_TRIGGERS)
		payload_text(&news, payload);
}

static Session *
holder(int64 incarnation)
{
	for (int i = 0; i < SESSIONS; i++)
		if (sessions[i].is_open && sessions[i].incarnation == incarnation)
			return &sessions[i];
	return NULL;
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
	return holder(incarnation) != NULL;
}

bool
session_take_gone(Session *session)
{
	return session->is_gone_told;
}

void
server_want_sweep(void)
{
}

bool
session_take_sweep(Session *session)
{
	return session->wants_sweep;
}

void
server_wake(void)
{
}

/* The model takes over what the server chose by chance, if that is within its bounds. */
int64
server_jitter(const uint8 *id, int64 delay_us, int64 most_us)
{
	for (int i = 0; i < PQntuples(answered); i++)
	{
		int64		early_us = delay_us - MS_TO_US(wire_get_int(answered, i, FINISH_DELAY_MS));

		if (memcmp(wire_get_uuid(answered, i, FINISH_ID), id, 16) == 0 && early_us >= 0 && early_us < most_us + MS_TO_US(1))
			return early_us;
	}
	return 0;
}

void
server_choose_id(int schedule, int64 occurrence_us, uint8 *id)
{
	sides_scheduled_id(schedule, occurrence_us, id);
}

/* ---- signals to backends, of SQL handlers that are not compared ---- */

void
server_cancel(int pid)
{
}

void
server_terminate(int pid)
{
}

int
session_pid(const Session *session)
{
	return 0;
}

/* ---- the judge, who has nothing to say here ---- */

void
judge_accept(const Row *row, const char *result, int64 delay_us)
{
}

void
judge_grab(const Row *row, int64 sent_us)
{
}

void
judge_overdue(const Row *row)
{
}

void
judge_take_over(const Row *row)
{
}

void
judge_pass_over(const Row *row)
{
}

void
judge_undo(const Row *row)
{
}

void
judge_wait(const Row *row)
{
}

void
judge_promote(const Row *row)
{
}

void
judge_expire(const Row *row)
{
}

void
judge_schedule_starts(int schedule, int64 next_us)
{
}

void
judge_schedule_ends(int schedule)
{
}

void
judge_schedule(int schedule, int64 due_us)
{
}

void
judge_occurrence(int schedule, int64 at_us)
{
}

void
judge_free(int limit, int64 incarnation)
{
}

void
judge_offer(int limit, int64 incarnation)
{
}

void
judge_turn(int limit, int64 incarnation)
{
}

void
judge_use_turn(int limit, int64 incarnation)
{
}

void
judge_cancel(const Row *row)
{
}

void
server_unlock(void)
{
}

bool
server_is_up(void)
{
	return true;
}

bool
faults_last(void)
{
	return true;
}

void
judge_busy(int64 incarnation, int64 length_us)
{
}

void
judge_gone(int64 incarnation)
{
}

void
judge_effect(const Row *row, TaskResult result)
{
}

/* ---- the door, which nobody opens here ---- */

void
door_make(int pid)
{
}

void
door_remove(int pid)
{
}

void
door_pass(const Row *row)
{
}
