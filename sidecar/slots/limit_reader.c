/*-------------------------------------------------------------------------
 *
 * limit_reader.c
 *		Reads the limits that are set in the database.
 *
 *		from: sql/policy/limits.sql		to: type_limits.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "common/limit_pattern.h"
#include "calls/calls.h"
#include "slots/limit_reader.h"

struct LimitReader
{
	Policies   *policies;
	Node	   *node;
	TypeLimits *limits;
	LoopFn		on_missed;
	void	   *arg;
	bool		has_missed;
	PGresult   *last;			/* the last answer; NULL: none yet */
};

/* False: the row is malformed. */
static bool
read_rule(const PGresult *result, int row, LimitRule *rule)
{
	rule->pattern = PQgetvalue(result, row, LIMITS_PATTERN);
	if (!limit_pattern_valid(rule->pattern, strlen(rule->pattern)))
		return false;
	rule->is_shared = wire_get_bool(result, row, LIMITS_IS_SHARED);
	rule->terms.max = wire_get_int(result, row, LIMITS_CONCURRENCY);
	rule->terms.stretch = wire_get_int(result, row, LIMITS_STRETCH);
	rule->terms.stretch_priority = wire_get_int(result, row, LIMITS_STRETCH_PRIORITY);
	rule->terms.rate = wire_get_int(result, row, LIMITS_RATE);
	rule->terms.period_us = wire_get_int(result, row, LIMITS_PER_US);
	rule->terms.burst = wire_get_int(result, row, LIMITS_BURST);
	return rule->terms.rate == 0 || (rule->terms.period_us > 0 && rule->terms.burst > 0);
}

static void
take_limits(LimitReader *reader, const PGresult *result)
{
	LimitRule  *all = palloc((PQntuples(result) + 1) * sizeof(LimitRule));
	int			n = 0;

	for (int i = 0; i < PQntuples(result); i++)
		n += read_rule(result, i, &all[n]);
	type_limits_set(reader->limits, all, n);
	pfree(all);
}

static void
on_limits(void *arg, PgOutcome outcome, PGresult *result)
{
	LimitReader *reader = arg;

	if (outcome == PG_DONE)
	{
		log_line(TWT_LOG_DEBUG, "slots", "read %d limits", PQntuples(result));
		/* Any session may cause a read: ignore an unchanged answer. */
		if (wire_is_news(&reader->last, result))
			take_limits(reader, result);
		if (reader->has_missed)
			reader->on_missed(reader->arg);
		reader->has_missed = false;
	}
	policies_end_reading(reader->policies, outcome);
}

static void
read_limits(void *arg)
{
	LimitReader *reader = arg;

	pg_send(node_pg(reader->node), &call_read_limits, NULL, on_limits, reader);
	policies_begin_reading(reader->policies);
}

LimitReader *
limit_reader_open(Policies *policies, Node *node, TypeLimits *limits,
				  LoopFn on_missed, void *arg)
{
	LimitReader *reader = palloc0(sizeof(LimitReader));

	reader->policies = policies;
	reader->node = node;
	reader->limits = limits;
	reader->on_missed = on_missed;
	reader->arg = arg;
	policies_on(policies, POLICIES_WANTED, read_limits, reader);
	return reader;
}

void
limit_reader_miss(void *arg)
{
	LimitReader *reader = arg;

	if (!reader->has_missed)
		policies_read(reader->policies);
	reader->has_missed = true;
}

void
limit_reader_free(LimitReader *reader)
{
	PQclear(reader->last);
	pfree(reader);
}
