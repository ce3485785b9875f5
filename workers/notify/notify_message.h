/*-------------------------------------------------------------------------
 *
 * notify_message.h
 *		One message as its target wants it: a request, or the input of a command.
 *
 *		from: notifier.c			to: notify_send.h, notify_command.h
 *
 * The database gives these members of a message: incident, state, repeat, key, severity,
 * summary, detail, hint, count, since, at, environment, database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_MESSAGE_H
#define TWT_NOTIFY_MESSAGE_H

#include <jansson.h>

#include "workers/notify/notify_queue.h"
#include "workers/notify/notify_settings.h"

/* Receivers take a key of at most 255 characters. */
#define NOTIFY_DEDUP_MAX 255

/* The content, palloc'd; NULL: the template did not make JSON of the message. */
extern char *notify_message_body(const NotifySettings *settings, const NotifyTarget *target,
								 const NotifyMessage *message) MUSTCHECK;

/* Where the request goes; palloc'd. */
extern char *notify_message_url(const NotifySettings *settings, const NotifyTarget *target,
								const NotifyMessage *message) MUSTCHECK;

/*
 * ENVIRONMENT/KEY, or DATABASE/KEY without an environment; palloc'd.  A long one ends in a
 * digest of the whole.
 */
extern char *notify_dedup_key(const NotifySettings *settings, const json_t *fields) MUSTCHECK;

/* A copy of the answer of the target without its secrets; palloc'd. */
extern char *notify_redact(const NotifyTarget *target, const char *answer) MUSTCHECK;

#endif							/* TWT_NOTIFY_MESSAGE_H */
