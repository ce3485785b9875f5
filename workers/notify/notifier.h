/*-------------------------------------------------------------------------
 *
 * notifier.h
 *		Lines of the sidecar, and what became of its messages.
 *
 *		from: main.c			to: notify_queue.h, notify_send.h, notify_command.h
 *
 * The sidecar says
 *	{"target":NAME,"messages":[...]}	all that is not sent to that target, in order
 *	{"heartbeat":1}						all is well now
 * and hears
 *	{"incident":ID,"target":NAME,"state":STATE,"repeat":N,
 *		"status":"sent", "failed" or "retry","answer":TEXT}	after each try whose answer is new
 *	["TROUBLE", ...]					the troubles of targets, when they change
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFIER_H
#define TWT_NOTIFIER_H

#include "base/loop.h"
#include "workers/notify/notify_settings.h"

typedef struct Notifier Notifier;

/* Appends its lines to out.  Keeps the settings. */
extern Notifier *notifier_new(Loop *loop, StringInfo out, NotifySettings *settings);

extern void notifier_take(Notifier *notifier, const char *line, size_t len);

/* Sends no more; calls done(arg) when nothing is under way. */
extern void notifier_leave(Notifier *notifier, LoopFn done, void *arg);

#endif							/* TWT_NOTIFIER_H */
