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

#define QUEUE_TIME_US (30 * USECS_PER_MINUTE)

/* Callers invent types, so we empty the hash table at this size. */
#define KNOWN_TYPES_MAX 10000

/* The columns of PLAN_READ_TYPE_POLICIES. */
enum
{
	READ_PATTERN = 1,
	READ_BUCKET,
	READ_PRIORITY,
	READ_QUEUE_TIME,
	READ_EXPIRES_AFTER,
	READ_WHEN_DONE,
	READ_NODES,
	READ_INTERCEPT,
	READ_AGING,
	READ_TIMEOUT,
	READ_STUCK,
	READ_STUCK_FUNCTION,
	READ_RETRY,
	READ_RETRY_FUNCTION,
	READ_RESET_TRIES,
	READ_ON_END,
	READ_WAITS_FOR_DEADLINE
};

/* A row of twtasks.type_policy; options that are not set are as in no_policy. */
typedef struct Rule
{
	char	   *pattern;
	TypePolicy	options;
} Rule;

typedef struct KnownType
{
	char		type[TRIGGER_TYPE_MAX + 1];
	TypePolicy	policy;
} KnownType;

/* The content of the tables. */
typedef struct Kept
{
	MemoryContext context;
	Rule	   *rules;			/* the least special first */
	int			nrules;
	char	  **buckets;		/* besides the default one */
	int			nbuckets;
	char	  **paused_types;	/* patterns */
	int			npaused_types;
	char	  **paused_buckets;
	int			npaused_buckets;
	bool		is_open;		/* nothing is paused or bound to nodes */
	bool		any_on_end;		/* a rule names a function for it */
	HTAB	   *known_types;	/* merged policies, by type */
} Kept;

static const TypePolicy no_policy = {
	.priority = -1,
	.queue_time_us = -1,
	.when_done = -1,
	.aging_us = -1,
	.timeout_us = -1,
	.resets_tries = -1,
	.waits_for_deadline = -1
};

static const TypePolicy default_policy = {
	.priority = -1,
	.queue_time_us = QUEUE_TIME_US,
	.when_done = DONE_KEEP,
	.timeout_us = -1,
	.resets_tries = true
};

static Kept kept;
static TableCache *cache;

/* ---- reading ---- */

static int
read_when_done(HeapTuple row)
{
	static const char *const labels[] = {"keep", "clear", "delete"};
	char	   *label = cached_text(row, READ_WHEN_DONE);

	for (int i = 0; label != NULL && i < (int) lengthof(labels); i++)
		if (strcmp(label, labels[i]) == 0)
			return i;
	return no_policy.when_done;
}

static char **
read_nodes(HeapTuple row)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, SPI_tuptable->tupdesc, READ_NODES, &isnull);
	char	  **nodes;
	Datum	   *names;
	int			n;

	if (isnull)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT,
					  &names, NULL, &n);
	nodes = palloc0((n + 1) * sizeof(char *));
	for (int i = 0; i < n; i++)
		nodes[i] = TextDatumGetCString(names[i]);
	return nodes;
}

static Jsonb *
read_jsonb(HeapTuple row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? NULL : DatumGetJsonbPCopy(value);
}

static void
read_options(HeapTuple row, TypePolicy *options)
{
	options->bucket = cached_text(row, READ_BUCKET);
	options->priority = (int) cached_int8(row, READ_PRIORITY, no_policy.priority);
	options->queue_time_us = cached_int8(row, READ_QUEUE_TIME, no_policy.queue_time_us);
	options->expires_after_us = cached_int8(row, READ_EXPIRES_AFTER, 0);
	options->when_done = read_when_done(row);
	options->nodes = read_nodes(row);
	options->intercept = cached_text(row, READ_INTERCEPT);
	options->aging_us = cached_int8(row, READ_AGING, no_policy.aging_us);
	options->timeout_us = cached_int8(row, READ_TIMEOUT, no_policy.timeout_us);
	options->stuck = cached_text(row, READ_STUCK);
	options->stuck_function = cached_text(row, READ_STUCK_FUNCTION);
	options->retry = read_jsonb(row, READ_RETRY);
	options->retry_function = cached_text(row, READ_RETRY_FUNCTION);
	options->resets_tries = (int) cached_int8(row, READ_RESET_TRIES, no_policy.resets_tries);
	options->on_end = cached_text(row, READ_ON_END);
	options->waits_for_deadline = (int) cached_int8(row, READ_WAITS_FOR_DEADLINE,
													no_policy.waits_for_deadline);
}

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

/* Runs first of the three readers, and clears the old content. */
static void
read_rules(void)
{
	kept = (Kept)
	{
		.context = CurrentMemoryContext, .is_open = true
	};
	make_known_types();
	kept.rules = palloc0(sizeof(Rule) * (SPI_processed + 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		Rule	   *rule = &kept.rules[kept.nrules++];

		rule->pattern = cached_text(row, READ_PATTERN);
		read_options(row, &rule->options);
		kept.is_open &= rule->options.nodes == NULL;
		kept.any_on_end |= rule->options.on_end != NULL;
	}
}

static void
read_buckets(void)
{
	kept.buckets = palloc0(sizeof(char *) * (SPI_processed + 1));
	for (uint64 i = 0; i < SPI_processed; i++)
		kept.buckets[kept.nbuckets++] = cached_text(SPI_tuptable->vals[i], 1);
}

static void
read_pauses(void)
{
	kept.paused_types = palloc0(sizeof(char *) * (SPI_processed + 1));
	kept.paused_buckets = palloc0(sizeof(char *) * (SPI_processed + 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *name = cached_text(SPI_tuptable->vals[i], 2);

		if (strcmp(cached_text(SPI_tuptable->vals[i], 1), "type") == 0)
			kept.paused_types[kept.npaused_types++] = name;
		else
			kept.paused_buckets[kept.npaused_buckets++] = name;
		kept.is_open = false;
	}
}

void
policy_init(void)
{
	static const CachedTable tables[] = {
		{"type_policy", PLAN_READ_TYPE_POLICIES, read_rules},
		{"bucket_policy", PLAN_READ_BUCKETS, read_buckets},
		{"pause", PLAN_READ_PAUSES, read_pauses}
	};

	cache = table_cache_new("policies", tables, lengthof(tables));
}

/* ---- asking ---- */

/* "none" removes the function of less special rules. */
static void
take_function(const char **function, const char *option)
{
	if (option != NULL)
		*function = strcmp(option, "none") == 0 ? NULL : option;
}

/* An option of this rule replaces that of less special rules. */
static void
take_options(TypePolicy *policy, const TypePolicy *options)
{
	if (options->bucket != NULL)
		policy->bucket = options->bucket;
	if (options->priority != no_policy.priority)
		policy->priority = options->priority;
	if (options->queue_time_us != no_policy.queue_time_us)
		policy->queue_time_us = options->queue_time_us;
	if (options->expires_after_us != 0)
		policy->expires_after_us = options->expires_after_us;
	if (options->when_done != no_policy.when_done)
		policy->when_done = options->when_done;
	if (options->nodes != NULL)
		policy->nodes = options->nodes;
	if (options->aging_us != no_policy.aging_us)
		policy->aging_us = options->aging_us;
	if (options->timeout_us != no_policy.timeout_us)
		policy->timeout_us = options->timeout_us;
	if (options->stuck != NULL)
		policy->stuck = options->stuck;
	if (options->retry != NULL)
		policy->retry = options->retry;
	if (options->resets_tries != no_policy.resets_tries)
		policy->resets_tries = options->resets_tries;
	if (options->waits_for_deadline != no_policy.waits_for_deadline)
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
	for (int i = 0; i < kept.npaused_types; i++)
		policy->is_paused |= pattern_fit(kept.paused_types[i], type) > 0;
}

static bool
is_plain(void)
{
	return kept.nrules == 0 && kept.npaused_types == 0;
}

const TypePolicy *
policy_find(const char *type)
{
	KnownType  *known;
	bool		found;

	table_cache_refresh(cache);
	if (likely(is_plain()) || strlen(type) > TRIGGER_TYPE_MAX)
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
	if (likely(is_plain()))
		return &default_policy;
	return policy_find(TextDatumGetCString(type));
}

bool
policy_any_on_end(void)
{
	table_cache_refresh(cache);
	return kept.any_on_end;
}

int
policy_risen(Datum type, int priority, int64 waited_us)
{
	int64		aging_us = policy_of_text(type)->aging_us;

	if (likely(aging_us == 0) || priority <= TRIGGER_RISEN || waited_us < aging_us)
		return priority;
	return (int) Max(priority - waited_us / aging_us, TRIGGER_RISEN);
}

static bool
is_among(char **names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool
policy_bucket_exists(const char *bucket)
{
	table_cache_refresh(cache);
	return strcmp(bucket, DEFAULT_BUCKET) == 0 ||
		is_among(kept.buckets, kept.nbuckets, bucket);
}

bool
policy_is_paused(const char *type, const char *bucket)
{
	table_cache_refresh(cache);
	return !kept.is_open &&
		(is_among(kept.paused_buckets, kept.npaused_buckets, bucket) ||
		 policy_find(type)->is_paused);
}

bool
policy_may_grab(Datum type, Datum bucket, Datum node)
{
	char	   *type_name;
	char	  **nodes;

	table_cache_refresh(cache);
	if (likely(kept.is_open))
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
