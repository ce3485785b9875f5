/*-------------------------------------------------------------------------
 *
 * notify_send.h
 *		Requests with a message: sent and answered.
 *
 *		from: notifier.c			to: http_client.h
 *
 * A request takes 10 s at most.  An answer 2xx means that the message was received.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_SEND_H
#define TWT_NOTIFY_SEND_H

#include "base/loop.h"
#include "workers/curl/http_sign.h"

typedef struct NotifySender NotifySender;

typedef struct NotifyRequest
{
	const char *url;
	const char *body;			/* JSON; NULL: a GET */
	const char *scheme;			/* in Authorization; NULL: none */
	const char *secret;			/* behind the scheme */
	const HttpKeys *keys;		/* NULL: not signed */
	const char *id;				/* webhook-id */
} NotifyRequest;

/* answer: HTTP and the status with the beginning of the body, or why there is none. */
typedef void (*NotifyDone) (void *arg, bool is_sent, const char *answer);

extern NotifySender *notify_sender_new(Loop *loop, NotifyDone done);

/* Copies the request.  False: out of memory; else done(arg, ...) is called once, later. */
extern bool notify_send(NotifySender *sender, const NotifyRequest *request, void *arg) MUSTCHECK;

#endif							/* TWT_NOTIFY_SEND_H */
