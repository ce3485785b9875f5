/*-------------------------------------------------------------------------
 *
 * notify_queue.c
 *		The messages of one target: in which order, and when again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "lib/ilist.h"
#include "workers/notify/notify_queue.h"

#define AGAIN_MIN_US SECONDS_TO_US(1)
#define AGAIN_MAX_US SECONDS_TO_US(300)

typedef struct Entry
{
	NotifyMessage message;		/* first: a message is an entry */
	dlist_node	node;
	int64		due_us;
	bool		is_listed;
} Entry;

struct NotifyQueue
{
	dlist_head	entries;		/* in the order of the database */
	Entry	   *under_way;		/* NULL: none */
};

NotifyQueue *
notify_queue_new(void)
{
	NotifyQueue *queue = palloc0(sizeof(NotifyQueue));

	dlist_init(&queue->entries);
	return queue;
}

static void
free_entry(Entry *entry)
{
	dlist_delete(&entry->node);
	json_decref(entry->message.fields);
	pfree(entry->message.name);
	pfree(entry->message.answer);
	pfree(entry);
}

void
notify_queue_free(NotifyQueue *queue)
{
	while (!dlist_is_empty(&queue->entries))
		free_entry(dlist_head_element(Entry, node, &queue->entries));
	pfree(queue);
}

/* ---- the list ---- */

static Entry *
find(const NotifyQueue *queue, const char *name)
{
	NotifyMessage *message = notify_queue_next(queue, NULL);

	while (message != NULL && strcmp(message->name, name) != 0)
		message = notify_queue_next(queue, message);
	return (Entry *) message;
}

static char *
make_name(const json_t *fields)
{
	const char *state = json_string_value(json_object_get(fields, "state"));

	return psprintf(INT64_FORMAT "/%s/" INT64_FORMAT, (int64) json_integer_value(json_object_get(fields, "incident")),
					state == NULL ? "" : state, (int64) json_integer_value(json_object_get(fields, "repeat")));
}

static void
add(NotifyQueue *queue, json_t *fields, char *name, int64 now_us)
{
	Entry	   *entry = palloc0(sizeof(Entry));
	const char *key = json_string_value(json_object_get(fields, "key"));

	entry->message.name = name;
	entry->message.fields = json_incref(fields);
	entry->message.key = key == NULL ? "" : key;
	entry->due_us = now_us;
	entry->is_listed = true;
	dlist_push_tail(&queue->entries, &entry->node);
}

static void
forget_unlisted(NotifyQueue *queue)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &queue->entries)
	{
		Entry	   *entry = dlist_container(Entry, node, iter.cur);

		if (!entry->is_listed && entry != queue->under_way)
			free_entry(entry);
		else
			entry->is_listed = false;
	}
}

int
notify_queue_set(NotifyQueue *queue, const json_t *list, int64 now_us)
{
	int			nsent = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
	{
		json_t	   *fields = json_array_get(list, i);
		char	   *name = make_name(fields);
		Entry	   *entry = find(queue, name);

		if (entry == NULL)
		{
			add(queue, fields, name, now_us);
			continue;
		}
		entry->is_listed = true;
		nsent += entry->message.is_sent;
		pfree(name);
	}
	forget_unlisted(queue);
	return nsent;
}

NotifyMessage *
notify_queue_next(const NotifyQueue *queue, const NotifyMessage *message)
{
	const dlist_node *end = &queue->entries.head;
	dlist_node *next = message == NULL ? queue->entries.head.next : ((const Entry *) message)->node.next;

	return next == NULL || next == end ? NULL : &dlist_container(Entry, node, next)->message;
}

/* ---- sending ---- */

/* Whether an earlier message of its key is not sent. */
static bool
must_wait(const NotifyQueue *queue, const Entry *entry)
{
	for (NotifyMessage *other = notify_queue_next(queue, NULL); other != &entry->message;
		 other = notify_queue_next(queue, other))
		if (!other->is_sent && strcmp(other->key, entry->message.key) == 0)
			return true;
	return false;
}

NotifyMessage *
notify_queue_start(NotifyQueue *queue, int64 now_us, int64 *delay_us)
{
	*delay_us = -1;
	if (queue->under_way != NULL)
		return NULL;
	for (NotifyMessage *message = notify_queue_next(queue, NULL); message != NULL && queue->under_way == NULL;
		 message = notify_queue_next(queue, message))
	{
		Entry	   *entry = (Entry *) message;

		if (message->is_sent || must_wait(queue, entry))
			continue;
		if (entry->due_us <= now_us)
			queue->under_way = entry;
		else if (*delay_us < 0 || entry->due_us - now_us < *delay_us)
			*delay_us = entry->due_us - now_us;
	}
	return queue->under_way == NULL ? NULL : &queue->under_way->message;
}

static int64
delay_after(int nfailures)
{
	int64		delay_us = AGAIN_MIN_US;

	while (--nfailures > 0 && delay_us < AGAIN_MAX_US)
		delay_us *= 2;
	return chance_delay(Min(delay_us, AGAIN_MAX_US));
}

void
notify_queue_end(NotifyQueue *queue, bool is_sent, const char *answer, int64 now_us)
{
	Entry	   *entry = queue->under_way;

	queue->under_way = NULL;
	pfree(entry->message.answer);
	entry->message.answer = pstrdup(answer);
	entry->message.is_sent = is_sent;
	if (is_sent)
		return;
	entry->message.nfailures++;
	entry->due_us = now_us + Max(delay_after(entry->message.nfailures), AGAIN_MIN_US);
}

const NotifyMessage *
notify_queue_trouble(const NotifyQueue *queue)
{
	const NotifyMessage *message = notify_queue_next(queue, NULL);

	while (message != NULL && (message->is_sent || message->nfailures == 0))
		message = notify_queue_next(queue, message);
	return message;
}

const NotifyMessage *
notify_queue_under_way(const NotifyQueue *queue)
{
	return queue->under_way == NULL ? NULL : &queue->under_way->message;
}

bool
notify_queue_is_busy(const NotifyQueue *queue)
{
	return queue->under_way != NULL;
}
