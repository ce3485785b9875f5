/*-------------------------------------------------------------------------
 *
 * notify_send.h
 *		Requests with a message: sent and answered.
 *
 *		from: notifier.c, trace_export.c			to: http_client.h
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
	char	   *const *headers; /* further ones, as NAME: VALUE; NULL: none */
} NotifyRequest;

typedef struct NotifyAnswer
{
	long		status;			/* 0: there is no answer */
	const char *text;			/* HTTP and the status with the beginning of
								 * the body, or why there is none */
	const char *body;			/* its beginning */
	int64		again_us;		/* Retry-After; 0: none */
} NotifyAnswer;

typedef void (*NotifyDone) (void *arg, const NotifyAnswer *answer);

/* Whether the status is 2xx. */
extern bool notify_was_sent(const NotifyAnswer *answer);

/* An answer is kept up to so many bytes. */
#define NOTIFY_BODY_MAX 4096

extern NotifySender *notify_sender_new(Loop *loop, NotifyDone done);

/* Copies the request.  False: out of memory; else done(arg, ...) is called once, later. */
extern bool notify_send(NotifySender *sender, const NotifyRequest *request, void *arg) MUSTCHECK;

#endif							/* TWT_NOTIFY_SEND_H */
