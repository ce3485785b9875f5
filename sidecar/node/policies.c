/*-------------------------------------------------------------------------
 *
 * policies.c
 *		What the database says about types, and when it is read again.
 *
 *		from: sql/policy/configure_type.sql		to: policy.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "base/log.h"
#include "node/policies.h"
#include "pg/calls.h"

#define AGAIN_US SECONDS_TO_US(1)

/*
 * Anybody may notify: so often is enough.  Reading many policies takes its time,
 * of which it may take no more than this part.
 */
#define READ_PERIOD_US MS_TO_US(100)
#define READ_PERIOD_MAX_US SECONDS_TO_US(5)
#define READ_PART 20

/* Types that are remembered; beyond, we begin anew. */
#define KNOWN_MAX 100000

typedef struct KnownPolicy
{
	char	   *type;
	Policy	   *policy;
	uint32		hash;
	char		status;
} KnownPolicy;

#define SH_PREFIX known
#define SH_ELEMENT_TYPE KnownPolicy
#define SH_KEY_TYPE char *
#define SH_KEY type
#define SH_HASH_KEY(tb, key) hash_bytes((const uint8 *) key, strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Who wants to hear of something. */
typedef struct Listener
{
	slist_node	node;
	LoopFn		fn;
	void	   *arg;
} Listener;

struct Policies
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	PolicyRules *rules;
	bool	   *paused;			/* one per bucket of the configuration */
	bool	   *missing;		/* likewise: said to be not configured */
	int		   *bucket_max;		/* likewise; -1: no limit */
	known_hash *known;			/* by type */
	slist_head	readers;		/* Listeners of on_reload */
	slist_head	followers;		/* ... of on_change */
	slist_head	others;			/* ... of on_same */
	LoopTimer  *timer;			/* the next time to read */
	int64		read_us;		/* when it was read last */
	int64		took_us;		/* the last reading */
	StringInfoData last;		/* what it was then */
	int			nreading;		/* statements without an answer */
	bool		has_failed;		/* one of them */
	bool		are_read;
};

static void
forget_known(Policies *policies)
{
	known_iterator iter;
	KnownPolicy *known;

	known_start_iterate(policies->known, &iter);
	while ((known = known_iterate(policies->known, &iter)) != NULL)
	{
		policy_unref(known->policy);
		pfree(known->type);
	}
	known_reset(policies->known);
}

static void
tell(const slist_head *listeners)
{
	slist_iter	iter;

	slist_foreach(iter, unconstify(slist_head *, listeners))
	{
		Listener   *listener = slist_container(Listener, node, iter.cur);

		listener->fn(listener->arg);
	}
}

static void
add_listener(slist_head *listeners, LoopFn fn, void *arg)
{
	Listener   *listener = palloc(sizeof(Listener));

	listener->fn = fn;
	listener->arg = arg;
	slist_push_head(listeners, &listener->node);
}

static void
free_listeners(slist_head *listeners)
{
	while (!slist_is_empty(listeners))
		pfree(slist_container(Listener, node, slist_pop_head_node(listeners)));
}

static int64
duration_us(const PGresult *result, int row, int column)
{
	if (wire_null(result, row, column))
		return -1;
	return MS_TO_US(wire_get_int8(result, row, column));
}

static int
stuck_rule(const PGresult *result, int row)
{
	for (int rule = STUCK_ERROR; rule <= STUCK_IGNORE; rule++)
		if (!wire_null(result, row, POLICIES_STUCK) &&
			strcmp(PQgetvalue(result, row, POLICIES_STUCK), config_stuck_name(rule)) == 0)
			return rule;
	return -1;
}

static void
add_rule(PolicyRules *rules, const PGresult *result, int row)
{
	PolicyRule	rule = policy_rule(PQgetvalue(result, row, POLICIES_NAME));

	rule.timeout_us = duration_us(result, row, POLICIES_TIMEOUT_MS);
	rule.stuck = stuck_rule(result, row);
	rule.asks_stuck = wire_get_bool(result, row, POLICIES_ASKS_STUCK);
	rule.aging_us = duration_us(result, row, POLICIES_AGING_MS);
	if (!wire_null(result, row, POLICIES_MAX_TRIES))
		rule.max_tries = wire_get_int4(result, row, POLICIES_MAX_TRIES);
	rule.runs_here = wire_get_bool(result, row, POLICIES_RUNS_HERE);
	policy_rules_add(rules, &rule);
}

static void
mark_bucket(const Policies *policies, bool *marks, const char *name)
{
	int			bucket = config_bucket(policies->config, name, strlen(name));

	if (bucket >= 0)
		marks[bucket] = true;
}

static void
set_bucket_max(Policies *policies, const char *name, const PGresult *result, int row)
{
	int			bucket = config_bucket(policies->config, name, strlen(name));

	if (bucket >= 0 && !wire_null(result, row, POLICIES_CONCURRENCY))
		policies->bucket_max[bucket] = wire_get_int4(result, row, POLICIES_CONCURRENCY);
}

static void
forget_bucket_max(Policies *policies)
{
	for (int i = 0; i < policies->config->nbuckets; i++)
		policies->bucket_max[i] = -1;
}

/* Nothing can be added to it: somebody has forgotten something. */
static void
tell_missing(Policies *policies, const bool *configured)
{
	for (int i = 0; i < policies->config->nbuckets; i++)
	{
		if (!configured[i] && !policies->missing[i])
			log_line(TWT_LOG_WARN, "policy",
					 "bucket \"%s\" is not configured in the database: see twtasks.configure_bucket()",
					 policies->config->buckets[i]);
		policies->missing[i] = !configured[i];
	}
}

static void
read_row(Policies *policies, PolicyRules *rules, bool *configured,
		 const PGresult *result, int row)
{
	const char *kind = PQgetvalue(result, row, POLICIES_KIND);
	const char *name = PQgetvalue(result, row, POLICIES_NAME);

	if (strcmp(kind, "policy") == 0)
		add_rule(rules, result, row);
	else if (strcmp(kind, "paused type") == 0)
		policy_rules_pause(rules, name);
	else if (strcmp(kind, "paused bucket") == 0)
		mark_bucket(policies, policies->paused, name);
	else if (strcmp(kind, "bucket") == 0)
	{
		mark_bucket(policies, configured, name);
		set_bucket_max(policies, name, result, row);
	}
}

static void
take_rows(Policies *policies, const PGresult *result)
{
	PolicyRules *rules = policy_rules_new();
	int			nbuckets = policies->config->nbuckets;
	bool	   *configured = palloc0(nbuckets * sizeof(bool));

	memset(policies->paused, 0, nbuckets * sizeof(bool));
	forget_bucket_max(policies);
	mark_bucket(policies, configured, "default");
	for (int i = 0; i < PQntuples(result); i++)
		read_row(policies, rules, configured, result, i);
	tell_missing(policies, configured);
	pfree(configured);
	policy_rules_free(policies->rules);
	policies->rules = rules;
	forget_known(policies);
	tell(&policies->followers);
}

static void
on_policies(void *arg, PgOutcome outcome, PGresult *result)
{
	Policies   *policies = arg;

	if (outcome == PG_DONE)
	{
		log_line(TWT_LOG_DEBUG, "policy", "read %d policies", PQntuples(result));
		if (wire_is_news(&policies->last, result))
			take_rows(policies, result);
		else
			tell(&policies->others);
	}
	policies_end_reading(policies, outcome);
}

static void
read_policies(void *arg)
{
	Policies   *policies = arg;
	WireParams	params;

	wire_init(&params);
	wire_add_text(&params, policies->config->node);
	pg_send(node_pg(policies->node), &call_policies, &params, on_policies, policies);
	policies_begin_reading(policies);
}

static void
read_now(void *arg)
{
	Policies   *policies = arg;

	if (!pg_is_up(node_pg(policies->node)))
		return;
	policies->read_us = loop_now_us(policies->loop);
	policies->has_failed = false;
	tell(&policies->readers);
}

void
policies_read(Policies *policies)
{
	int64		period_us = Min(Max(READ_PERIOD_US, policies->took_us * READ_PART),
								READ_PERIOD_MAX_US);
	int64		since = loop_now_us(policies->loop) - policies->read_us;

	if (policies->read_us == 0 || since >= period_us)
		read_now(policies);
	else
		loop_timer_start(policies->timer, period_us - since);
}

void
policies_on_reload(Policies *policies, LoopFn fn, void *arg)
{
	add_listener(&policies->readers, fn, arg);
}

void
policies_begin_reading(Policies *policies)
{
	policies->nreading++;
}

void
policies_end_reading(Policies *policies, PgOutcome outcome)
{
	Assert(policies->nreading > 0);
	policies->nreading--;
	policies->took_us = loop_now_us(policies->loop) - policies->read_us;
	policies->has_failed |= outcome != PG_DONE;
	if (outcome == PG_FAILED)
		loop_timer_start(policies->timer, AGAIN_US);
	if (policies->nreading > 0 || policies->has_failed)
		return;
	policies->are_read = true;
	loop_want_turn(policies->loop);
}

void
policies_on_change(Policies *policies, LoopFn fn, void *arg)
{
	add_listener(&policies->followers, fn, arg);
}

void
policies_on_same(Policies *policies, LoopFn fn, void *arg)
{
	add_listener(&policies->others, fn, arg);
}

int64
policies_aging_us(const Policies *policies)
{
	return policy_rules_aging_us(policies->rules);
}

bool
policies_are_read(const Policies *policies)
{
	return policies->are_read;
}

Policies *
policies_open(Loop *loop, const Config *config, Node *node)
{
	Policies   *policies = palloc0(sizeof(Policies));

	policies->loop = loop;
	policies->config = config;
	policies->node = node;
	policies->rules = policy_rules_new();
	policies->paused = palloc0(config->nbuckets * sizeof(bool));
	policies->missing = palloc0(config->nbuckets * sizeof(bool));
	policies->bucket_max = palloc(config->nbuckets * sizeof(int));
	forget_bucket_max(policies);
	initStringInfo(&policies->last);
	policies->known = known_create(64, NULL);
	slist_init(&policies->readers);
	slist_init(&policies->followers);
	slist_init(&policies->others);
	policies->timer = loop_timer_new(loop, read_now, policies);
	policies_on_reload(policies, read_policies, policies);
	return policies;
}

void
policies_set_config(Policies *policies, const Config *config)
{
	policies->config = config;
	forget_known(policies);
	tell(&policies->followers);
}

void
policies_free(Policies *policies)
{
	forget_known(policies);
	known_destroy(policies->known);
	policy_rules_free(policies->rules);
	pfree(policies->paused);
	pfree(policies->missing);
	pfree(policies->bucket_max);
	pfree(policies->last.data);
	free_listeners(&policies->readers);
	free_listeners(&policies->followers);
	free_listeners(&policies->others);
	loop_timer_free(policies->timer);
	pfree(policies);
}

int
policies_bucket_max(const Policies *policies, int bucket)
{
	return policies->bucket_max[bucket];
}

/* What no handler runs never comes here. */
Policy *
policies_of(Policies *policies, const char *type)
{
	KnownPolicy *known = known_lookup(policies->known, unconstify(char *, type));
	bool		found;

	if (known != NULL)
		return known->policy;
	if (policies->known->members >= KNOWN_MAX)
		forget_known(policies);
	known = known_insert(policies->known, pstrdup(type), &found);
	known->policy = policy_make(policies->rules,
								config_handler(policies->config, type), type);
	return known->policy;
}

bool
policies_take(Policies *policies, int bucket, const char *type)
{
	const KnownPolicy *known;

	if (policies->paused[bucket])
		return false;
	known = known_lookup(policies->known, unconstify(char *, type));
	if (known != NULL)
		return known->policy->is_taken;
	return config_handler(policies->config, type) == NULL ||
		policies_of(policies, type)->is_taken;
}
