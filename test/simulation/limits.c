/*-------------------------------------------------------------------------
 *
 * limits.c
 *		The model's limits: of each node, and of the whole cluster.
 *
 * As sql/policy/limits.sql and sql/run/slots.sql document them.  The model counts the
 * rows that hold a slot, where the extension keeps their list.  It has no stretch.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

#define WAITING_MOST 500
#define BUSY_MS 2

/* One for each type, and one for all types. */
#define LIMITS (MODEL_TYPES + 1)

typedef struct SharedLimit
{
	int			most;			/* tasks at once; -1: any number */
	ModelRate	rate;
	double		tokens;			/* starts that the rate had left then */
	int64		used_us;		/* by the database's clock */
	int64		since_us;		/* by the world's clock */
	int64		waiting[WAITING_MOST];	/* incarnations, in the order of their
										 * refusals */
	int			nwaiting;
} SharedLimit;

static SharedLimit shared[LIMITS];
static int	own[LIMITS];		/* limits of each node, for the whole run */
static ModelRate own_rates[LIMITS];

static const char *
name_of(int limit)
{
	return limit == MODEL_TYPES ? "*" : model_types[limit];
}

/* -1: there is no such limit. */
static int
find(const Elements *names, int i)
{
	for (int limit = 0; limit < LIMITS; limit++)
		if (element_is_text(names, i, name_of(limit)))
			return limit;
	return -1;
}

static bool
covers(int limit, int type)
{
	return limit == type || limit == MODEL_TYPES;
}

void
limits_begin(void)
{
	memset(shared, 0, sizeof(shared));
	memset(own_rates, 0, sizeof(own_rates));
	for (int limit = 0; limit < LIMITS; limit++)
		shared[limit].most = own[limit] = -1;
}

void
model_choose_limits(void)
{
	for (int limit = 0; limit < LIMITS; limit++)
	{
		shared[limit].most = world_happens(300) ? (int) world_between(1, 5) : -1;
		own[limit] = world_happens(150) ? (int) world_between(1, 4) : -1;
	}
}

/* More for all types than for one. */
static ModelRate
any_rate(int limit)
{
	int			least = limit == MODEL_TYPES ? 3 : 1;

	return (ModelRate)
	{
		.starts = (int) world_between(least, 3 * least), .period_us = SECONDS_TO_US(1),
			.burst = (int) world_between(1, 4)
	};
}

void
model_choose_rates(void)
{
	for (int limit = 0; limit < LIMITS; limit++)
	{
		if (world_happens(300))
			own_rates[limit] = any_rate(limit);
		if (world_happens(300))
			shared[limit].rate = any_rate(limit);
		shared[limit].tokens = shared[limit].rate.burst;
	}
}

PGresult *
limits_read(void)
{
	PGresult   *result = result_new(LIMITS_BURST + 1);

	for (int i = 0; i < 2 * LIMITS; i++)
	{
		bool		is_shared = i < LIMITS;
		int			most = is_shared ? shared[i].most : own[i - LIMITS];
		const ModelRate *rate = is_shared ? &shared[i].rate : &own_rates[i - LIMITS];
		int			at = PQntuples(result);

		if (most < 0 && rate->starts == 0)
			continue;
		for (int column = 0; column <= LIMITS_BURST; column++)
			result_int(result, at, column, 0);
		result_text(result, at, LIMITS_PATTERN, name_of(i % LIMITS));
		result_bool(result, at, LIMITS_IS_SHARED, is_shared);
		result_int(result, at, LIMITS_CONCURRENCY, most);
		result_int(result, at, LIMITS_RATE, rate->starts);
		result_int(result, at, LIMITS_PER_US, rate->period_us);
		result_int(result, at, LIMITS_BURST, rate->burst);
	}
	return result;
}

/* ---- slots ---- */

/* Incarnation 0: by all nodes. */
static int
used(int limit, int64 incarnation)
{
	int			n = 0;

	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);

		n += row->status == ROW_PROCESSING && row->incarnation != 0 && covers(limit, row->type) &&
			nodes_live(row->incarnation) && (incarnation == 0 || row->incarnation == incarnation);
	}
	return n;
}

static int
place_in_line(const SharedLimit *limit, int64 incarnation)
{
	int			place = 0;

	while (place < limit->nwaiting && limit->waiting[place] != incarnation)
		place++;
	return place;
}

static void
wait_in_line(SharedLimit *limit, int64 incarnation)
{
	if (place_in_line(limit, incarnation) < limit->nwaiting)
		return;
	if (limit->nwaiting == WAITING_MOST)
		world_fail("%d nodes wait for a limit", WAITING_MOST);
	limit->waiting[limit->nwaiting++] = incarnation;
}

static bool
exists(const SharedLimit *limit)
{
	return limit->most >= 0 || limit->rate.starts > 0;
}

bool
limits_cover(int type)
{
	return exists(&shared[type]) || exists(&shared[MODEL_TYPES]);
}

/* ---- rates ---- */

/* A clock that went back adds no tokens and takes none. */
static double
tokens_now(const SharedLimit *limit)
{
	int64		us = Max(model_clock_us() - limit->used_us, 0);

	return Min(limit->tokens + (double) us * limit->rate.starts / limit->rate.period_us, limit->rate.burst);
}

/* 0: one more task may start now. */
static int64
rate_refuses_ms(const SharedLimit *limit)
{
	double		tokens;

	if (limit->rate.starts == 0)
		return 0;
	tokens = tokens_now(limit);
	return tokens >= 1 ? 0 : 1 + (int64) ((1 - tokens) * limit->rate.period_us / limit->rate.starts / 1000);
}

void
limits_take(int type)
{
	for (int i = 0; i < LIMITS; i++)
	{
		SharedLimit *limit = &shared[i];

		if (!covers(i, type) || limit->rate.starts == 0)
			continue;
		limit->tokens = tokens_now(limit) - 1;
		limit->used_us = model_clock_us();
	}
}

const char *
limits_refuse(int type, int64 incarnation, int64 *again_ms)
{
	*again_ms = 0;
	for (int limit = 0; limit < LIMITS; limit++)
	{
		if (!exists(&shared[limit]) || !covers(limit, type))
			continue;
		if (world_happens(20))
			*again_ms = BUSY_MS;
		else if (shared[limit].most >= 0 && used(limit, 0) >= shared[limit].most)
			wait_in_line(&shared[limit], incarnation);
		else
		{
			*again_ms = rate_refuses_ms(&shared[limit]);
			if (*again_ms == 0)
				continue;
		}
		return name_of(limit);
	}
	return NULL;
}

/* ---- offers ---- */

static void
tell_turn(int limit, int64 incarnation, int64 turns)
{
	char		payload[80];

	judge_turn(limit, incarnation);
	world_tell("incarnation " INT64_FORMAT " is told of " INT64_FORMAT " slots of limit %d", incarnation, turns, limit);
	snprintf(payload, sizeof(payload), INT64_FORMAT " " INT64_FORMAT " %s", incarnation, turns, name_of(limit));
	server_notify(CHANNEL_SLOTS, payload);
}

/* Drops those that have ended, and the caller if it wants none. */
static void
clean_line(SharedLimit *limit, int64 incarnation, bool is_wanted)
{
	int			n = 0;

	for (int i = 0; i < limit->nwaiting; i++)
		if (nodes_live(limit->waiting[i]) && (is_wanted || limit->waiting[i] != incarnation))
			limit->waiting[n++] = limit->waiting[i];
	limit->nwaiting = n;
	if (is_wanted)
		wait_in_line(limit, incarnation);
}

/* Returns the turns of the caller; incarnation 0: it cannot call again. */
static int64
offer(int limit, int64 freed, bool is_wanted, int64 incarnation)
{
	SharedLimit *line = &shared[limit];
	bool		has_waited = place_in_line(line, incarnation) < line->nwaiting;
	int64		own_turns = 0;
	int			told;
	int			n;

	if (line->nwaiting == 0 || (line->nwaiting == 1 && has_waited))
		return freed;
	clean_line(line, incarnation, is_wanted);
	n = line->nwaiting;
	told = (int) Min(freed, n);
	for (int i = 1; i <= told; i++)
	{
		int64		share = (freed + n - i) / n;

		if (line->waiting[i - 1] == incarnation)
			own_turns = share;
		else
			tell_turn(limit, line->waiting[i - 1], share);
	}
	line->nwaiting -= told;
	memmove(line->waiting, line->waiting + told, line->nwaiting * sizeof(int64));
	/* A refusal may be on its way to a caller that does not wait yet. */
	if (!is_wanted && has_waited)
	{
		memmove(line->waiting + 1, line->waiting, line->nwaiting * sizeof(int64));
		line->waiting[0] = incarnation;
		line->nwaiting++;
	}
	return told == 0 ? freed : own_turns;
}

PGresult *
limits_offer(const ServerCall *call)
{
	PGresult   *result = result_new(OFFER_TURNS + 2);
	Elements	names;
	Elements	freed;
	Elements	wanted;

	param_array(call, 0, &names);
	param_array(call, 1, &freed);
	param_array(call, 2, &wanted);
	for (int i = 0; i < names.n; i++)
	{
		int			limit = find(&names, i);
		int64		n = element_int(&freed, i);
		int			len;
		const char *name = element(&names, i, &len);

		if (limit >= 0)
			judge_offer(limit, param_int(call, 3));
		result_bytes(result, i, OFFER_NAME, name, len);
		if (world_happens(20))
			result_null(result, i, OFFER_TURNS);
		else
			result_int(result, i, OFFER_TURNS, limit < 0 ? n :
					   offer(limit, n, element_is_text(&wanted, i, "t"), param_int(call, 3)));
	}
	return result;
}

void
limits_offer_types(const int *freed)
{
	int			all = 0;

	for (int type = 0; type < MODEL_TYPES; type++)
	{
		all += freed[type];
		if (shared[type].most >= 0 && freed[type] > 0)
			(void) offer(type, freed[type], false, 0);
	}
	if (shared[MODEL_TYPES].most >= 0 && all > 0)
		(void) offer(MODEL_TYPES, all, false, 0);
}

bool
limits_is_shared(int limit)
{
	return exists(&shared[limit]);
}

bool
limits_have_line(int limit, int64 incarnation)
{
	for (int i = 0; i < shared[limit].nwaiting; i++)
		if (shared[limit].waiting[i] != incarnation && nodes_live(shared[limit].waiting[i]))
			return limits_is_shared(limit);
	return false;
}

bool
limits_are_all_used_by(int limit, int64 incarnation)
{
	return shared[limit].most > 0 && used(limit, incarnation) >= shared[limit].most;
}

void
limits_note_free(int type, int64 incarnation)
{
	for (int limit = 0; limit < LIMITS; limit++)
		if (shared[limit].most >= 0 && covers(limit, type))
			judge_free(limit, incarnation);
}

void
limits_note_ask(int type, int64 incarnation)
{
	for (int limit = 0; limit < LIMITS; limit++)
		if (covers(limit, type))
			judge_use_turn(limit, incarnation);
}

/* ---- people ---- */

void
model_change_limit(void)
{
	int			limit = (int) world_between(0, LIMITS - 1);

	shared[limit].most = world_happens(400) ? -1 : (int) world_between(0, 5);
	shared[limit].since_us = world_now_us();
	act_tell("the limit of %s in the cluster is now %d", name_of(limit), shared[limit].most);
	server_notify(CHANNEL_CONFIG, "");
}

void
model_open_limits(void)
{
	bool		is_changed = false; /* news for nothing makes nodes sweep */

	for (int limit = 0; limit < LIMITS; limit++)
		if (shared[limit].most == 0)
		{
			shared[limit].most = 1;
			is_changed = true;
		}
	if (is_changed)
		server_notify(CHANNEL_CONFIG, "");
}

/* ---- for the judge ---- */

int
model_limits(void)
{
	return LIMITS;
}

bool
model_limit(int limit, int type, ModelLimit *found)
{
	*found = (ModelLimit)
	{
		.name = name_of(limit), .most = shared[limit].most, .of_node = own[limit], .since_us = shared[limit].since_us,
			.rate = shared[limit].rate, .rate_of_node = own_rates[limit]
	};
	return covers(limit, type);
}
