/*-------------------------------------------------------------------------
 *
 * commit.c
 *		Triggers of the current transaction, from add_task() to its commit.
 *
 * No sidecar may be woken before the row is visible, nor for a row that was
 * rolled back.  So we only remember triggers, and act at the end:
 *
 *	 event			action										may it fail?
 *	 pre-commit		buckets without a ring: one notification	yes, rolls back
 *					for each, unless one is in flight (news.h)
 *	 commit			push to the rings, wake sidecars, forget	never
 *	 abort			forget										never
 *	 prepare		forget (see prepared.h)						never
 *	 subabort		forget what came since it began				never
 *
 * A serialization failure can still abort a transaction after pre-commit.  So
 * only a notification leaves before commit, since the server itself holds it
 * back until then.  An error at commit would take the server down: nothing
 * there allocates, waits or looks at a table.
 *
 * Entries stand in order of time in one array in TopTransactionContext, each
 * with the id of its subtransaction.  Such ids only grow.  So when a
 * subtransaction aborts, its entries and the entries of its committed children
 * are exactly the tail whose ids are not below its own.  A subtransaction that
 * commits needs no work.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "commands/async.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/contract.h"
#include "base/settings.h"
#include "base/unix_time.h"
#include "commit/commit.h"
#include "commit/news.h"
#include "queue/queue.h"

/* A notification holds 7999 bytes; a longer one is replaced by "sweep". */
#define NOTIFY_CHANNEL "twtasks"
#define NOTIFY_MAX 7900

typedef struct Bucket
{
	char		name[TRIGGER_BUCKET_MAX + 1];
	Queue	   *queue;			/* NULL: notify */
	bool		in_bulk;		/* some triggers were not remembered */
	bool		has_news;		/* at commit: wake a sidecar */
} Bucket;

typedef struct Entry
{
	SubTransactionId subid;
	int			bucket;			/* in buckets */
	TaskTrigger trigger;
} Entry;

typedef struct Pending
{
	MemoryContext context;
	Bucket	   *buckets;
	int			nbuckets;
	int			max_buckets;
	Entry	   *entries;
	int			nentries;
	int			max_entries;
} Pending;

/* NULL while the transaction has added nothing. */
static Pending *pending = NULL;

/* Whether this process must wake no sidecar. */
static bool
is_inert(void)
{
	return IsBinaryUpgrade || IsParallelWorker() || RecoveryInProgress();
}

static void
make_pending(void)
{
	Pending    *p = MemoryContextAllocZero(TopTransactionContext, sizeof(Pending));

	p->context = TopTransactionContext;
	p->max_buckets = 4;
	p->buckets = MemoryContextAlloc(p->context, p->max_buckets * sizeof(Bucket));
	p->max_entries = 4;
	p->entries = MemoryContextAlloc(p->context, p->max_entries * sizeof(Entry));
	pending = p;
}

static int
find_bucket(const char *name)
{
	Bucket	   *bucket;

	for (int i = 0; i < pending->nbuckets; i++)
		if (strcmp(pending->buckets[i].name, name) == 0)
			return i;
	if (pending->nbuckets == pending->max_buckets)
	{
		pending->buckets = repalloc(pending->buckets,
									2 * pending->max_buckets * sizeof(Bucket));
		pending->max_buckets *= 2;
	}
	bucket = &pending->buckets[pending->nbuckets];
	memset(bucket, 0, sizeof(Bucket));
	snprintf(bucket->name, sizeof(bucket->name), "%s", name);
	bucket->queue = queue_attach(name);
	return pending->nbuckets++;
}

static void
remember(const char *bucket_name, const TaskTrigger *trigger)
{
	int			bucket;
	Entry	   *entry;

	if (is_inert())
		return;
	if (pending == NULL)
		make_pending();
	bucket = find_bucket(bucket_name);
	if (pending->nentries == COMMIT_MAX_TRIGGERS)
	{
		/* in_bulk stays set after a rollback, which costs one needless sweep */
		pending->buckets[bucket].in_bulk = true;
		return;
	}
	if (pending->nentries == pending->max_entries)
	{
		pending->entries = repalloc(pending->entries,
									2 * pending->max_entries * sizeof(Entry));
		pending->max_entries *= 2;
	}
	entry = &pending->entries[pending->nentries++];
	entry->subid = GetCurrentSubTransactionId();
	entry->bucket = bucket;
	entry->trigger = *trigger;
}

void
commit_remember_task(const char *bucket, const char *type, TaskTrigger *trigger)
{
	size_t		length = strlen(type);

	if (!trigger_bucket_valid(bucket, strlen(bucket)) || !trigger_type_valid(type, length))
		return;
	trigger->type_len = length;
	memcpy(trigger->type, type, length + 1);
	remember(bucket, trigger);
}

bool
commit_has_triggers(void)
{
	return pending != NULL && pending->nentries > 0;
}

/* "<bucket>\n<trigger>\n<trigger>...", or "<bucket>\nsweep" */
static void
notify_bucket(int number)
{
	Bucket	   *bucket = &pending->buckets[number];
	bool		sweep = bucket->in_bulk;
	bool		any = sweep;
	bool		has_due = false;
	StringInfoData payload;

	initStringInfo(&payload);
	appendStringInfoString(&payload, bucket->name);
	for (int i = 0; i < pending->nentries && !sweep; i++)
	{
		Entry	   *entry = &pending->entries[i];
		char		text[TRIGGER_TEXT_MAX];

		if (entry->bucket != number)
			continue;
		any = true;
		has_due |= entry->trigger.due_us != 0;
		trigger_encode(&entry->trigger, text);
		appendStringInfo(&payload, "\n%s", text);
		sweep = payload.len > NOTIFY_MAX;
	}
	if (sweep)
	{
		resetStringInfo(&payload);
		appendStringInfo(&payload, "%s\nsweep", bucket->name);
	}
	/* A sidecar's look finds no task whose time has not come. */
	if (any && (sweep || has_due || news_must_tell(bucket->name)))
		Async_Notify(NOTIFY_CHANNEL, payload.data);
	pfree(payload.data);
}

static void
notify_buckets(void)
{
	for (int i = 0; i < pending->nbuckets; i++)
		if (pending->buckets[i].queue == NULL)
			notify_bucket(i);
}

static void
push_triggers(void)
{
	for (int i = 0; i < pending->nentries; i++)
	{
		Entry	   *entry = &pending->entries[i];
		Bucket	   *bucket = &pending->buckets[entry->bucket];

		if (bucket->queue == NULL)
			continue;
		queue_push(bucket->queue, &entry->trigger);
		bucket->has_news = true;
	}
	for (int i = 0; i < pending->nbuckets; i++)
	{
		Bucket	   *bucket = &pending->buckets[i];

		if (bucket->queue == NULL)
			continue;
		if (bucket->in_bulk)
			queue_ask(bucket->queue);
		if (bucket->has_news && pending->nentries == 1 && pending->entries[0].trigger.due_us == 0)
			queue_wake_for(bucket->queue, &pending->entries[0].trigger);
		else if (bucket->has_news)
			queue_wake(bucket->queue);
	}
}

/* The schema alone may outlive the extension. */
static bool
is_installed(void)
{
	Oid			schema = get_namespace_oid("twtasks", true);

	return OidIsValid(schema) && OidIsValid(get_relname_relid("task", schema));
}

static void
on_transaction_event(XactEvent event, void *arg)
{
	if (pending == NULL)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (!is_installed())
				pending = NULL; /* dropped after the add */
			else if (twt_enabled)
				notify_buckets();
			break;
		case XACT_EVENT_COMMIT:
			if (twt_enabled)
				push_triggers();
			pending = NULL;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			pending = NULL;
			break;
		case XACT_EVENT_PRE_PREPARE:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

static void
on_subtransaction_event(SubXactEvent event, SubTransactionId subid,
						SubTransactionId parent, void *arg)
{
	if (pending == NULL || event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (pending->nentries > 0 &&
		   pending->entries[pending->nentries - 1].subid >= subid)
		pending->nentries--;
}

void
commit_init(void)
{
	RegisterXactCallback(on_transaction_event, NULL);
	RegisterSubXactCallback(on_subtransaction_event, NULL);
}

/* queue_trigger(): for tasks that other functions have stored and checked. */
TWT_FUNCTION(twt_queue_trigger);
Datum
twt_queue_trigger(PG_FUNCTION_ARGS)
{
	TaskTrigger trigger = {0};

	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_VOID();
	memcpy(trigger.id, PG_GETARG_UUID_P(0), sizeof(trigger.id));
	trigger.version = PG_GETARG_INT64(1);
	trigger.priority = PG_GETARG_INT16(4);
	trigger.size = PG_GETARG_INT32(5);
	trigger.due_us = PG_ARGISNULL(6) ? 0 : unix_us(PG_GETARG_TIMESTAMPTZ(6));
	commit_remember_task(text_to_cstring(PG_GETARG_TEXT_PP(2)), text_to_cstring(PG_GETARG_TEXT_PP(3)),
						 &trigger);
	PG_RETURN_VOID();
}
