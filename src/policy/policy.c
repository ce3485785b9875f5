/*-------------------------------------------------------------------------
 *
 * policy.c
 *		The configuration of types and buckets, as this session knows it.
 *
 *		from: sql/policy/configure_type.sql		to: check.c, add.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "base/new_task.h"
#include "base/table_cache.h"
#include "common/pattern.h"
#include "policy/policy.h"
#include "policy/policy_read.h"

#define QUEUE_TIME_US (30 * USECS_PER_MINUTE)

/* Callers invent types, so we empty the hash table at this size. */
#define KNOWN_TYPES_MAX 10000

typedef struct KnownType
{
	char		type[TRIGGER_TYPE_MAX + 1];
	TypePolicy	policy;
} KnownType;

/* The policies of types, without the policies of their buckets. */
typedef struct Kept
{
	MemoryContext context;
	PolicyRule *rules;			/* the least special first */
	int			nrules;
	bool		any_nodes;		/* a rule names nodes */
	bool		any_on_end;		/* a rule names a function for it */
	HTAB	   *known_types;	/* merged policies, by type */
} Kept;

static const TypePolicy default_policy = {
	.priority = -1,
	.queue_time_us = QUEUE_TIME_US,
	.when_done = DONE_KEEP,
	.timeout_us = -1,
	.resets_tries = true
};

static Kept kept;
static TableCache *cache;

static void
make_known_types(void)
{
	HASHCTL		control = {
		.keysize = TRIGGER_TYPE_MAX + 1,
		.entrysize = sizeof(KnownType),
		.hcxt = kept.context
	};

	kept.known_types = hash_create("twtasks policies", 64, &control,
								   HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

static void
read_rules(const CachedRows *rows)
{
	kept = (Kept)
	{
		.context = CurrentMemoryContext,
			.rules = policy_read_rules(rows),
			.nrules = rows->n
	};
	make_known_types();
	for (int i = 0; i < kept.nrules; i++)
	{
		kept.any_nodes |= kept.rules[i].options.nodes != NULL;
		kept.any_on_end |= kept.rules[i].options.on_end != NULL;
	}
}

void
policy_init(void)
{
	static const CachedTable table = {&policy_shape, read_rules};

	cache = table_cache_new(&table);
	policy_open_init();
}

/* ---- asking ---- */

/* "none" removes the function of less special rules. */
static void
take_function(const char **function, const char *option)
{
	if (option != NULL)
		*function = strcmp(option, "none") == 0 ? NULL : option;
}

/* An option of this rule replaces the same option of less special rules. */
static void
take_options(TypePolicy *policy, const TypePolicy *options)
{
	if (options->bucket != NULL)
		policy->bucket = options->bucket;
	if (options->priority != policy_unset.priority)
		policy->priority = options->priority;
	if (options->queue_time_us != policy_unset.queue_time_us)
		policy->queue_time_us = options->queue_time_us;
	if (options->expires_after_us != 0)
		policy->expires_after_us = options->expires_after_us;
	if (options->when_done != policy_unset.when_done)
		policy->when_done = options->when_done;
	if (options->nodes != NULL)
		policy->nodes = options->nodes;
	if (options->aging_us != policy_unset.aging_us)
		policy->aging_us = options->aging_us;
	if (options->timeout_us != policy_unset.timeout_us)
		policy->timeout_us = options->timeout_us;
	if (options->stuck != NULL)
		policy->stuck = options->stuck;
	if (options->retry != NULL)
		policy->retry = options->retry;
	if (options->resets_tries != policy_unset.resets_tries)
		policy->resets_tries = options->resets_tries;
	if (options->waits_for_deadline != policy_unset.waits_for_deadline)
		policy->waits_for_deadline = options->waits_for_deadline;
	take_function(&policy->intercept, options->intercept);
	take_function(&policy->stuck_function, options->stuck_function);
	take_function(&policy->retry_function, options->retry_function);
	take_function(&policy->on_end, options->on_end);
}

static void
make_policy(TypePolicy *policy, const char *type)
{
	*policy = default_policy;
	for (int i = 0; i < kept.nrules; i++)
		if (pattern_fit(kept.rules[i].pattern, type) > 0)
			take_options(policy, &kept.rules[i].options);
}

const TypePolicy *
policy_find(const char *type)
{
	KnownType  *known;
	bool		found;

	table_cache_refresh(cache);
	if (likely(kept.nrules == 0) || strlen(type) > TRIGGER_TYPE_MAX)
		return &default_policy;
	if (hash_get_num_entries(kept.known_types) >= KNOWN_TYPES_MAX)
	{
		hash_destroy(kept.known_types);
		make_known_types();
	}
	known = hash_search(kept.known_types, type, HASH_ENTER, &found);
	if (!found)
		make_policy(&known->policy, type);
	return &known->policy;
}

const TypePolicy *
policy_of_text(Datum type)
{
	table_cache_refresh(cache);
	if (likely(kept.nrules == 0))
		return &default_policy;
	return policy_find(TextDatumGetCString(type));
}

bool
policy_any_on_end(void)
{
	table_cache_refresh(cache);
	return kept.any_on_end;
}

const char *
policy_own_function(const TypePolicy *policy)
{
	static const char inner[] = "twtasks_internal.";
	const char *on_end = policy->on_end;

	return on_end != NULL && strncmp(on_end, inner, strlen(inner)) == 0 ? on_end : NULL;
}

TimestampTz
policy_runnable(TupleTableSlot *row)
{
	TimestampTz at = DatumGetTimestampTz(row_value(row, TASK_NEXT_EVENT_TIME));

	if (DatumGetBool(row_value(row, TASK_QUEUED)))
		at -= policy_of_text(row_value(row, TASK_TYPE))->queue_time_us;
	return Max(at, DatumGetTimestampTz(row_value(row, TASK_CREATED)));
}

int
policy_risen(Datum type, int priority, int64 waited_us)
{
	int64		aging_us = policy_of_text(type)->aging_us;

	if (likely(aging_us == 0) || priority <= TRIGGER_RISEN || waited_us < aging_us)
		return priority;
	return (int) Max(priority - waited_us / aging_us, TRIGGER_RISEN);
}

bool
policy_may_grab(Datum type, Datum bucket, Datum node)
{
	char	   *type_name;
	char	  **nodes;

	table_cache_refresh(cache);
	if (likely(!kept.any_nodes) && likely(!policy_any_pause()))
		return true;
	type_name = TextDatumGetCString(type);
	if (policy_is_paused(type_name, TextDatumGetCString(bucket)))
		return false;
	nodes = policy_find(type_name)->nodes;
	if (nodes == NULL)
		return true;
	for (; *nodes != NULL; nodes++)
		if (pattern_fit(*nodes, TextDatumGetCString(node)) > 0)
			return true;
	return false;
}
