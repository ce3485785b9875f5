/*-------------------------------------------------------------------------
 *
 * policy.c
 *		What is configured for types and buckets, as this session knows it.
 *
 *		from: sql/configure_type.sql		to: check.c, add.c
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "catalog/namespace.h"
#include "commands/async.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "clock.h"
#include "common/pattern.h"
#include "plan.h"
#include "policy.h"

#define CONFIG_CHANNEL "twtasks_config"
#define QUEUE_TIME_US (30 * USECS_PER_MINUTE)

/* Types are the callers' invention: beyond so many we begin anew. */
#define KNOWN_TYPES_MAX 10000

/* The columns of PLAN_READ_TYPE_POLICIES. */
enum
{
	READ_PATTERN = 1,
	READ_BUCKET,
	READ_PRIORITY,
	READ_QUEUE_TIME,
	READ_EXPIRES_AFTER,
	READ_WHEN_DONE
};

/* A row of twtasks.type_policy; what is not set is as in no_policy. */
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

static const TypePolicy no_policy = {
	.priority = -1,
	.queue_time_us = -1,
	.when_done = -1
};

static const TypePolicy default_policy = {
	.priority = -1,
	.queue_time_us = QUEUE_TIME_US,
	.when_done = DONE_KEEP
};

/* The least special first. */
static Rule *rules;
static int	nrules;
static HTAB *known_types;
static MemoryContext rules_context;
static Oid	rules_table;
static bool is_current = false;
static uint64 generation = 0;

/* May come at any moment, also while we read. */
static void
on_relation_changed(Datum arg, Oid relation)
{
	if (OidIsValid(relation) && relation != rules_table)
		return;
	is_current = false;
	generation++;
}

void
policy_init(void)
{
	CacheRegisterRelcacheCallback(on_relation_changed, (Datum) 0);
}

static char *
read_text(HeapTuple row, int column)
{
	return SPI_getvalue(row, SPI_tuptable->tupdesc, column);
}

static int64
read_int8(HeapTuple row, int column, int64 unset)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? unset : DatumGetInt64(value);
}

static int
read_when_done(HeapTuple row)
{
	static const char *const labels[] = {"keep", "clear", "delete"};
	char	   *label = read_text(row, READ_WHEN_DONE);

	for (int i = 0; label != NULL && i < (int) lengthof(labels); i++)
		if (strcmp(label, labels[i]) == 0)
			return i;
	return no_policy.when_done;
}

/* In rules_context. */
static void
read_rule(HeapTuple row, Rule *rule)
{
	rule->pattern = read_text(row, READ_PATTERN);
	rule->options.bucket = read_text(row, READ_BUCKET);
	rule->options.priority = (int) read_int8(row, READ_PRIORITY, no_policy.priority);
	rule->options.queue_time_us = read_int8(row, READ_QUEUE_TIME, no_policy.queue_time_us);
	rule->options.expires_after_us = read_int8(row, READ_EXPIRES_AFTER, 0);
	rule->options.when_done = read_when_done(row);
}

static void
read_rules(void)
{
	MemoryContext old;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	count = plan_read(PLAN_READ_TYPE_POLICIES);
	old = MemoryContextSwitchTo(rules_context);
	rules = palloc0(sizeof(Rule) * (count + 1));
	for (uint64 i = 0; i < count; i++)
		read_rule(SPI_tuptable->vals[i], &rules[i]);
	nrules = (int) count;
	MemoryContextSwitchTo(old);
	SPI_finish();
}

static void
make_known_types(void)
{
	HASHCTL		control = {
		.keysize = TRIGGER_TYPE_MAX + 1,
		.entrysize = sizeof(KnownType),
		.hcxt = rules_context
	};

	known_types = hash_create("twtasks policies", 64, &control,
							  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

/*
 * A change that comes while we read may not be in what we read: then we read
 * again.  Errors leave it to the next call.
 */
static void
read_all(void)
{
	uint64		before;

	do
	{
		nrules = 0;
		rules = NULL;
		known_types = NULL;
		if (rules_context == NULL)
			rules_context = AllocSetContextCreate(CacheMemoryContext, "twtasks policies",
												  ALLOCSET_SMALL_SIZES);
		MemoryContextReset(rules_context);
		rules_table = get_relname_relid("type_policy", get_namespace_oid("twtasks", false));
		before = generation;
		read_rules();
		make_known_types();
	} while (generation != before);
	is_current = true;
}

/* What the rule sets wins over what less special ones have set. */
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
}

const TypePolicy *
policy_find(const char *type)
{
	KnownType  *known;
	bool		found;

	if (unlikely(!is_current))
		read_all();
	if (likely(nrules == 0) || strlen(type) > TRIGGER_TYPE_MAX)
		return &default_policy;
	if (hash_get_num_entries(known_types) >= KNOWN_TYPES_MAX)
	{
		hash_destroy(known_types);
		make_known_types();
	}
	known = hash_search(known_types, type, HASH_ENTER, &found);
	if (found)
		return &known->policy;
	known->policy = default_policy;
	for (int i = 0; i < nrules; i++)
		if (pattern_fit(rules[i].pattern, type) > 0)
			take_options(&known->policy, &rules[i].options);
	return &known->policy;
}

const TypePolicy *
policy_of_text(Datum type)
{
	if (likely(is_current && nrules == 0))
		return &default_policy;
	return policy_find(TextDatumGetCString(type));
}

/* From when it is added, or may run: a task for tomorrow is worth running then. */
static TimestampTz
expires_at(const NewTask *task, int64 after_us)
{
	TimestampTz from = twt_now();
	TimestampTz at;

	if (!task->nulls[NEW_RUN_AFTER])
		from = Max(from, DatumGetTimestampTz(task->values[NEW_RUN_AFTER]));
	if (pg_add_s64_overflow(from, after_us, &at) || !IS_VALID_TIMESTAMP(at))
		return DT_NOEND;
	return at;
}

static void
set_field(NewTask *task, NewField field, Datum value)
{
	task->values[field] = value;
	task->nulls[field] = false;
}

void
policy_apply(NewTask *task)
{
	const TypePolicy *policy = policy_find(task->type);

	task->queue_time_us = policy->queue_time_us;
	if (task->nulls[NEW_PRIORITY])
		set_field(task, NEW_PRIORITY,
				  Int32GetDatum(policy->priority < 0 ? DEFAULT_PRIORITY : policy->priority));
	if (task->nulls[NEW_BUCKET])
		set_field(task, NEW_BUCKET,
				  CStringGetTextDatum(policy->bucket == NULL ? DEFAULT_BUCKET : policy->bucket));
	if (task->nulls[NEW_EXPIRES] && policy->expires_after_us > 0)
	{
		TimestampTz at = expires_at(task, policy->expires_after_us);

		if (!TIMESTAMP_NOT_FINITE(at))
			set_field(task, NEW_EXPIRES, TimestampTzGetDatum(at));
	}
}

/* How long a task of that type may be SUBMITTED. */
PG_FUNCTION_INFO_V1(twt_queue_time);
Datum
twt_queue_time(PG_FUNCTION_ARGS)
{
	char	   *type = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Interval   *result = palloc0(sizeof(Interval));

	result->time = policy_find(type)->queue_time_us;
	PG_RETURN_INTERVAL_P(result);
}

/*
 * The notification leaves and the invalidation takes effect at commit, here
 * the latter at the end of the command.
 */
PG_FUNCTION_INFO_V1(twt_config_changed);
Datum
twt_config_changed(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger")));
	CacheInvalidateRelcache(data->tg_relation);
	Async_Notify(CONFIG_CHANNEL, NULL);
	return PointerGetDatum(NULL);
}
