/*-------------------------------------------------------------------------
 *
 * session.h
 *		A session of the simulated server, and its messages to its client.
 *
 * Private to server.c and messages.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_SESSION_H
#define SIM_SESSION_H

#include "server.h"
#include "world.h"

/* Messages on their way to the client. */
typedef enum MessageKind
{
	MESSAGE_ANSWER,
	MESSAGE_NOTIFY,
	MESSAGE_END
} MessageKind;

typedef struct Message
{
	dlist_node	node;
	MessageKind kind;
	int64		call;
	const char *state;
	PGresult   *result;
	const char *channel;
	char	   *payload;
} Message;

struct Session
{
	dlist_node	node;
	int			pid;
	char		name[24];		/* the process */
	const SessionEvents *events;
	void	   *arg;
	bool		is_left;		/* by its client */
	bool		has_ended;
	int64		silent_us;		/* the network keeps everything until then */
	dlist_head	calls;			/* have arrived, or are on their way */
	int64		arrived_us;		/* when the last one arrives */
	ServerCall *current;
	bool		waits;			/* current is next_triggers, without triggers */
	bool		waits_for_row;	/* current */
	Event	   *work;			/* when the session goes on */
	int64		due_us;			/* when the current call goes on, if nothing
								 * ends it before */
	dlist_head	messages;
	Event	   *delivery;
	bool		listens[CHANNEL_COUNT];
	int64		incarnation;
	bool		is_gone_told;
	bool		wants_sweep;
};

/* The message arrives after those before it; the caller fills in the rest. */
extern Message *message_send(Session *session, MessageKind kind);
extern void messages_drop(Session *session);

/* The session has ended, and its client knows it or is gone. */
extern void session_free(Session *session);

#endif							/* SIM_SESSION_H */
