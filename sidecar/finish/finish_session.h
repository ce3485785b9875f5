/*-------------------------------------------------------------------------
 *
 * finish_session.h
 *		Sends outcomes of tasks over one session.
 *
 *		from: finish.h			to: sql/run/finish_tasks.sql
 *
 * Outcomes are collected while the session is busy, and then sent in one
 * statement.  They survive a lost connection: they are sent again, and a token
 * tells whether the first statement was executed.  A finish that the database
 * refuses came too late; it is logged and changes nothing.
 *
 * If the server refuses the statement, each outcome is sent again alone, so that a
 * bad one does not block the others.  If the server refuses several in a row and
 * has stored none for a second, no outcome is at fault, and all wait for a second.
 *
 * An asking session lets the database call policy functions, which may be slow
 * or end the session.  It gives up an outcome after two lost sessions, or
 * after a long wait.
 *
 * The backend of a lost session may stand still and hold its rows for as long as
 * it likes.  So a plain session gives up the outcomes whose answer was lost, and a
 * session of their own sends them again: together, and after a second loss each
 * alone, so that one locked row holds up no other outcome for long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_SESSION_H
#define TWT_FINISH_SESSION_H

#include "base/loop.h"
#include "config/config.h"
#include "finish/finish_item.h"
#include "node/node.h"

typedef struct FinishSession FinishSession;

typedef enum FinishKind
{
	FINISH_PLAIN,
	FINISH_ASKING,				/* calls functions of policies */
	FINISH_LOST					/* for outcomes whose answer was lost */
} FinishKind;

typedef struct FinishEvents
{
	/*
	 * An outcome with a judgement is stored.  status is NULL when the answer
	 * was lost; delay_ms is the delay of the next attempt.
	 */
	void		(*on_judged) (void *arg, const FinishItem *item,
							  const char *status, int64 delay_ms);

	/*
	 * The session gives up the item: its policy function is not to be called,
	 * or the answer to its token was lost.  The callee takes over the item.
	 */
	void		(*on_given_up) (void *arg, FinishItem *item);

	/* The database has answered a statement after that time. */
	void		(*on_answered) (void *arg, int64 us);
} FinishEvents;

extern FinishSession *finish_session_open(Loop *loop, const Config *config, Node *node,
										  FinishKind kind, const char *role);
extern void finish_session_free(FinishSession *session);
extern void finish_session_listen(FinishSession *session, const FinishEvents *events,
								  void *arg);

/* Takes over the item. */
extern void finish_session_add(FinishSession *session, FinishItem *item);

/* See the functions of the same names in finish.h. */
extern void finish_session_expect(FinishSession *session);
extern void finish_session_pump(FinishSession *session);
extern int	finish_session_pending(const FinishSession *session);

/* How many of the pending outcomes the database would not store so far. */
extern int	finish_session_postponed(const FinishSession *session);
extern void finish_session_gone(FinishSession *session);

#endif							/* TWT_FINISH_SESSION_H */
