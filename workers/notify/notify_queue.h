/*-------------------------------------------------------------------------
 *
 * notify_queue.h
 *		The messages of one target: in which order, and when again.
 *
 *		from: notifier.c
 *
 * The database lists the messages that are not sent, in order, about once a minute.  A
 * message that the list lacks is forgotten.  A message that was sent is kept until then,
 * since a list may be older than its end.
 *
 * One message of a target is under way at a time.  Messages of one key go in order: one
 * that failed holds up the later ones of its key, and no others.  A failed message is due
 * again after 1 s, then 2 s, and so on up to 5 min.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_QUEUE_H
#define TWT_NOTIFY_QUEUE_H

#include <jansson.h>

typedef struct NotifyQueue NotifyQueue;

typedef struct NotifyMessage
{
	char	   *name;			/* INCIDENT/STATE/REPEAT */
	const char *key;
	json_t	   *fields;
	int			nfailures;
	char	   *answer;			/* to the last try; NULL: there was none */
	bool		is_sent;
} NotifyMessage;

extern NotifyQueue *notify_queue_new(void);
extern void notify_queue_free(NotifyQueue *queue);

/*
 * The list of now; an array of objects with incident, state, repeat, key.  Returns the number of
 * messages in it that were sent before, whose ends must be told again.
 */
extern int	notify_queue_set(NotifyQueue *queue, const json_t *list, int64 now_us);

/* Walks the messages, from NULL; NULL at the end. */
extern NotifyMessage *notify_queue_next(const NotifyQueue *queue, const NotifyMessage *message);

/*
 * The message to send now, which is then under way.  NULL: none, or another one is;
 * *delay_us is the time until one is due, or -1.
 */
extern NotifyMessage *notify_queue_start(NotifyQueue *queue, int64 now_us, int64 *delay_us);

/* The end of the message under way; answer is copied. */
extern void notify_queue_end(NotifyQueue *queue, bool is_sent, const char *answer, int64 now_us);

/* The failed message that has waited longest; NULL: none has failed. */
extern const NotifyMessage *notify_queue_trouble(const NotifyQueue *queue);

/* The message under way; NULL: none. */
extern const NotifyMessage *notify_queue_under_way(const NotifyQueue *queue);
extern bool notify_queue_is_busy(const NotifyQueue *queue);

#endif							/* TWT_NOTIFY_QUEUE_H */
