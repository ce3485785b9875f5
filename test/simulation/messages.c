/*-------------------------------------------------------------------------
 *
 * messages.c
 *		What a simulated session sends, until its client has it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "session.h"

static void
free_message(Message *message)
{
	PQclear(message->result);
	pfree(message->payload);
	pfree(message);
}

void
messages_drop(Session *session)
{
	while (!dlist_is_empty(&session->messages))
		free_message(dlist_container(Message, node, dlist_pop_head_node(&session->messages)));
	if (session->delivery != NULL)
		world_cancel(session->delivery);
	session->delivery = NULL;
}

void
session_free(Session *session)
{
	messages_drop(session);
	pfree(session);
}

static void arm_delivery(Session *session, int64 delay_us);

static void
deliver(void *arg)
{
	Session    *session = arg;
	Message    *message;
	bool		is_last;

	session->delivery = NULL;
	if (session->silent_us > world_now_us())
	{
		arm_delivery(session, 0);
		return;
	}
	message = dlist_container(Message, node, dlist_pop_head_node(&session->messages));
	is_last = message->kind == MESSAGE_END;
	if (message->kind == MESSAGE_ANSWER)
		session->events->on_answer(session->arg, message->call, message->state, message->result);
	else if (message->kind == MESSAGE_NOTIFY)
		session->events->on_notify(session->arg, message->channel, message->payload);
	else
		session->events->on_end(session->arg);
	if (message->kind == MESSAGE_ANSWER)
		message->result = NULL;
	free_message(message);
	if (is_last)
		session_free(session);
	else if (!dlist_is_empty(&session->messages))
		arm_delivery(session, world_between(1, 50));
}

static void
arm_delivery(Session *session, int64 delay_us)
{
	int64		silent_us = session->silent_us - world_now_us();

	if (session->delivery == NULL)
		session->delivery = world_after(Max(delay_us, silent_us), deliver, session);
}

Message *
message_send(Session *session, MessageKind kind)
{
	Message    *message = palloc0(sizeof(Message));

	message->kind = kind;
	dlist_push_tail(&session->messages, &message->node);
	arm_delivery(session, acts_happens(HABIT_SLOW_NETWORK, 20) ? world_between(0, MS_TO_US(300)) : world_between(30, 400));
	return message;
}
