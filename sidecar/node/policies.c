/*-------------------------------------------------------------------------
 *
 * policies.c
 *		Reads the policies in the database, again after each change.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/map.h"
#include "common/pattern.h"
#include "node/policies.h"
#include "calls/calls.h"

#define AGAIN_US SECONDS_TO_US(1)

/*
 * Any session may send the notification of a change.  So reads are at least
 * READ_PERIOD_US apart, and take at most one part in READ_PART of the time.
 */
#define READ_PERIOD_US MS_TO_US(100)
#define READ_PERIOD_MAX_US SECONDS_TO_US(5)
#define READ_PART 20

/* The policies of this many types are cached; then the cache is emptied. */
#define KNOWN_MAX 100000

typedef struct Listener
{
	slist_node	node;
	LoopFn		fn;
	void	   *arg;
} Listener;

typedef struct BucketPolicy
{
	bool		is_missing;		/* not configured in the database */
	bool		is_paused;
	int			max;			/* tasks that run here at once; -1: no limit */
} BucketPolicy;

typedef enum ReadState
{
	UNREAD,
	UNREAD_FAILED,				/* the current read has failed */
	READ
} ReadState;

struct Policies
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	PGresult   *rows;			/* the last answer; NULL: none yet */
	BucketPolicy *buckets;		/* one per bucket of the configuration */
	Map		   *known;			/* cached policies by type */
	int64		aging_us;		/* the shortest aging time of all types */
	slist_head	listeners[POLICIES_EVENTS];
	LoopTimer  *timer;			/* for the next read */
	int64		read_us;		/* when the last read began */
	int64		took_us;		/* how long it took */
	int			nreading;		/* statements without an answer */
	ReadState	state;
};

static void
forget_known(Policies *policies)
{
	uint64		place = 0;
	Policy	   *policy;

	while ((policy = map_next(policies->known, &place)) != NULL)
		policy_unref(policy);
	map_clear(policies->known);
}

static void
tell(Policies *policies, PoliciesEvent event)
{
	slist_iter	iter;

	slist_foreach(iter, &policies->listeners[event])
	{
		Listener   *listener = slist_container(Listener, node, iter.cur);

		listener->fn(listener->arg);
	}
}

void
policies_on(Policies *policies, PoliciesEvent event, LoopFn fn, void *arg)
{
	Listener   *listener = palloc(sizeof(Listener));

	listener->fn = fn;
	listener->arg = arg;
	slist_push_head(&policies->listeners[event], &listener->node);
}

/* ---- the policies in the rows ---- */

static bool
is_kind(const PGresult *rows, int row, const char *kind)
{
	return strcmp(PQgetvalue(rows, row, POLICIES_KIND), kind) == 0;
}

/* The row of the most specific pattern that covers the type; -1: none. */
static int
find_row(const PGresult *rows, const char *type)
{
	int			best = -1;
	size_t		best_fit = 0;

	for (int i = 0; i < PQntuples(rows); i++)
	{
		size_t		fit = is_kind(rows, i, "policy") ?
			pattern_fit(PQgetvalue(rows, i, POLICIES_NAME), type) : 0;

		if (fit <= best_fit)
			continue;
		best_fit = fit;
		best = i;
	}
	return best;
}

static StuckRule
choose_stuck(const PGresult *rows, int row, const HandlerConfig *handler)
{
	StuckRule	stuck = handler->stuck;

	/*
	 * A SQL handler commits its work and its finish in one transaction.  So
	 * its task that is still PROCESSING has had no effect and can run again.
	 */
	if (handler->is_atomic)
		return STUCK_RETRY;
	for (int rule = STUCK_ERROR; rule <= STUCK_IGNORE; rule++)
		if (!PQgetisnull(rows, row, POLICIES_STUCK) &&
			strcmp(PQgetvalue(rows, row, POLICIES_STUCK), config_stuck_name(rule)) == 0)
			stuck = rule;

	/*
	 * A stuck function must be called, but no function is called for an
	 * ignored task.
	 */
	return wire_get_bool(rows, row, POLICIES_ASKS_STUCK) && stuck == STUCK_IGNORE ?
		STUCK_ERROR : stuck;
}

/* The retry options of a handler as JSON, in the format of configure_type(). */
static char *
retry_json(const RetryConfig *retry)
{
	return psprintf("{\"delay\": \"" INT64_FORMAT "us\", \"multiplier\": %.17g, "
					"\"max_delay\": \"" INT64_FORMAT "us\", \"max_tries\": %d, \"jitter\": %.17g}",
					retry->delay_us, retry->multiplier, retry->max_delay_us,
					retry->max_tries, retry->jitter);
}

/* Without a row, libpq returns null for any value of the NULL result. */
static Policy *
make_policy(const Policies *policies, const HandlerConfig *handler, const char *type)
{
	int			row = find_row(policies->rows, type);
	const PGresult *rows = row < 0 ? NULL : policies->rows;
	Policy	   *policy = palloc0(sizeof(Policy));

	policy->refs = 1;
	policy->type = pstrdup(type);
	policy->timeout_us = PQgetisnull(rows, row, POLICIES_TIMEOUT_MS) ? handler->timeout_us :
		MS_TO_US(wire_get_int(rows, row, POLICIES_TIMEOUT_MS));
	policy->stuck = choose_stuck(rows, row, handler);
	policy->max_tries = PQgetisnull(rows, row, POLICIES_MAX_TRIES) ? handler->retry.max_tries :
		wire_get_int(rows, row, POLICIES_MAX_TRIES);
	policy->retry = retry_json(&handler->retry);
	policy->is_taken = rows == NULL || wire_get_bool(rows, row, POLICIES_RUNS_HERE);
	policy->aging_us = MS_TO_US(wire_get_int(rows, row, POLICIES_AGING_MS));
	return policy;
}

static BucketPolicy
bucket_policy(const PGresult *rows, const char *name)
{
	BucketPolicy policy = {.is_missing = true, .max = -1};

	for (int i = 0; i < PQntuples(rows); i++)
	{
		if (!is_kind(rows, i, "bucket") || strcmp(PQgetvalue(rows, i, POLICIES_NAME), name) != 0)
			continue;
		policy.is_missing = false;
		policy.is_paused = !wire_get_bool(rows, i, POLICIES_RUNS_HERE);
		if (!PQgetisnull(rows, i, POLICIES_CONCURRENCY))
			policy.max = wire_get_int(rows, i, POLICIES_CONCURRENCY);
	}
	return policy;
}

static void
take_buckets(Policies *policies)
{
	for (int i = 0; i < policies->config->nbuckets; i++)
	{
		bool		was_missing = policies->buckets[i].is_missing;
		const char *name = policies->config->buckets[i];

		policies->buckets[i] = bucket_policy(policies->rows, name);
		if (policies->buckets[i].is_missing && !was_missing)
			log_line(TWT_LOG_WARN, "policy",
					 "bucket \"%s\" is not configured in the database: "
					 "SELECT twtasks.configure_bucket('%s') does it", name, name);
	}
}

static int64
shortest_aging(const PGresult *rows)
{
	int64		shortest = 0;

	for (int i = 0; i < PQntuples(rows); i++)
	{
		int64		aging_us = MS_TO_US(wire_get_int(rows, i, POLICIES_AGING_MS));

		if (aging_us > 0 && (shortest == 0 || aging_us < shortest))
			shortest = aging_us;
	}
	return shortest;
}

static void
take_rows(Policies *policies)
{
	take_buckets(policies);
	policies->aging_us = shortest_aging(policies->rows);
	forget_known(policies);
	tell(policies, POLICIES_CHANGED);
}

/* ---- reading ---- */

static void
on_policies(void *arg, PgOutcome outcome, PGresult *result)
{
	Policies   *policies = arg;

	if (outcome == PG_DONE)
	{
		log_line(TWT_LOG_DEBUG, "policy", "read %d policies", PQntuples(result));
		if (wire_is_news(&policies->rows, result))
			take_rows(policies);
		else
			tell(policies, POLICIES_SAME);
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
	if (policies->state == UNREAD_FAILED)
		policies->state = UNREAD;
	tell(policies, POLICIES_WANTED);
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
	if (outcome == PG_FAILED)
		loop_timer_start(policies->timer, AGAIN_US);
	if (outcome != PG_DONE && policies->state == UNREAD)
		policies->state = UNREAD_FAILED;
	if (policies->nreading > 0 || policies->state == UNREAD_FAILED)
		return;
	policies->state = READ;
	loop_want_turn(policies->loop);
}

bool
policies_are_read(const Policies *policies)
{
	return policies->state == READ;
}

Policies *
policies_open(Loop *loop, const Config *config, Node *node)
{
	Policies   *policies = palloc0(sizeof(Policies));

	policies->loop = loop;
	policies->config = config;
	policies->node = node;
	policies->buckets = palloc(config->nbuckets * sizeof(BucketPolicy));
	for (int i = 0; i < config->nbuckets; i++)
		policies->buckets[i] = (BucketPolicy)
	{
		.max = -1
	};
	policies->known = map_new(0);
	for (int i = 0; i < POLICIES_EVENTS; i++)
		slist_init(&policies->listeners[i]);
	policies->timer = loop_timer_new(loop, read_now, policies);
	policies_on(policies, POLICIES_WANTED, read_policies, policies);
	return policies;
}

void
policies_free(Policies *policies)
{
	forget_known(policies);
	map_free(policies->known);
	PQclear(policies->rows);
	pfree(policies->buckets);
	for (int i = 0; i < POLICIES_EVENTS; i++)
		while (!slist_is_empty(&policies->listeners[i]))
			pfree(slist_container(Listener, node, slist_pop_head_node(&policies->listeners[i])));
	loop_timer_free(policies->timer);
	pfree(policies);
}

void
policies_set_config(Policies *policies, const Config *config)
{
	policies->config = config;
	forget_known(policies);
	tell(policies, POLICIES_CHANGED);
}

/* ---- asking ---- */

int64
policies_aging_us(const Policies *policies)
{
	return policies->aging_us;
}

int
policies_bucket_max(const Policies *policies, int bucket)
{
	return policies->buckets[bucket].max;
}

Policy *
policies_of(Policies *policies, const char *type)
{
	Policy	   *policy = map_get(policies->known, type);

	if (policy != NULL)
		return policy;
	if (map_count(policies->known) >= KNOWN_MAX)
		forget_known(policies);
	policy = make_policy(policies, config_handler(policies->config, type), type);
	map_set(policies->known, policy->type, policy);
	return policy;
}

bool
policies_take(Policies *policies, int bucket, const char *type)
{
	const Policy *policy = map_get(policies->known, type);

	if (policies->buckets[bucket].is_paused)
		return false;
	if (policy == NULL && config_handler(policies->config, type) != NULL)
		policy = policies_of(policies, type);
	return policy == NULL || policy->is_taken;
}
