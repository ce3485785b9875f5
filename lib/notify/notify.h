/*-------------------------------------------------------------------------
 *
 * notify.h
 *		Incidents on their way to people: twtasks-notify.
 *
 *		from: sidecar.c, duties.h	to: helper.h, workers/notify/notifier.h,
 *									sql/watch/incidents.sql
 *
 * The leading sidecar asks the database after each judgement which messages are not sent,
 * hands them to the helper, and notes what became of each.  The database decides what is sent,
 * so nothing is lost with this process, the helper or the machine.  A message whose answer
 * was not noted is sent once more, with the same key for the receiver's deduplication.
 *
 * While no sidecar counts tasks, the deputy sends in the leader's place: twtasks-web.
 * The database gives it no message once a leader has counted again, and its helper then
 * ends.  Only a message that was under way at that moment, or is repeated within about
 * 5 s of it, may be sent by both.  Several deputies do not know of each other: each sends
 * each message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_H
#define TWT_NOTIFY_H

#include <jansson.h>

#include "base/loop.h"
#include "notify/notify_options.h"
#include "pg/pg.h"

typedef struct Notify Notify;

/* The program that sends. */
typedef struct NotifyOwner
{
	Pg		   *pg;				/* its session */
	bool		is_deputy;		/* it has no heartbeat either */
	const char *(*why_not) (void *arg); /* why it must not send now; NULL: it
										 * may */
	void	   *arg;
} NotifyOwner;

/* The owner is copied; the configuration stays the caller's. */
extern Notify *notify_open(Loop *loop, const NotifyConfig *config, const NotifyOwner *owner);

/* Reads files with secrets again.  A target that is added hears of the incidents that are open. */
extern void notify_reload(Notify *notify, const NotifyConfig *config);

/* Incidents have been judged. */
extern void notify_judged(void *notify);

/* There may be messages. */
extern void notify_ask(Notify *notify);

/* Starts and ends the helper: call it in each turn. */
extern void notify_pump(Notify *notify);

/* Why targets do not take messages, or the helper does not work. */
extern void notify_add_troubles(void *notify, json_t *list);

extern void notify_stop(Notify *notify);
extern bool notify_is_down(const Notify *notify);

/* Kills the helper if it still runs. */
extern void notify_free(Notify *notify);

#endif							/* TWT_NOTIFY_H */
