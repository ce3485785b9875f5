/*-------------------------------------------------------------------------
 *
 * policies.c
 *		The model's policies: people pause types and buckets, and let tasks rise.
 *
 * As sql/policy documents them.  A type has a policy if a person has set its aging, or has
 * paused it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "tables.h"
#include "values.h"
#include "world.h"

static bool pauses_type[MODEL_TYPES];
static bool pauses_bucket[MODEL_BUCKETS];
static int64 agings_us[MODEL_TYPES];	/* -1: its policy does not say */

void
policies_begin(void)
{
	memset(pauses_type, 0, sizeof(pauses_type));
	memset(pauses_bucket, 0, sizeof(pauses_bucket));
	for (int i = 0; i < MODEL_TYPES; i++)
		agings_us[i] = -1;
}

bool
model_is_paused(const Row *row)
{
	return pauses_type[row->type] || pauses_bucket[row->bucket];
}

/* ---- as a node reads them ---- */

static int
add_row(PGresult *result, const char *kind, const char *name, bool is_paused)
{
	int			at = PQntuples(result);

	for (int i = 0; i <= POLICIES_CONCURRENCY; i++)
		result_null(result, at, i);
	result_text(result, at, POLICIES_KIND, kind);
	result_text(result, at, POLICIES_NAME, name);
	result_bool(result, at, POLICIES_RUNS_HERE, !is_paused);
	return at;
}

PGresult *
policies_read_all(void)
{
	PGresult   *result = result_new(POLICIES_CONCURRENCY + 1);

	for (int i = 0; i < MODEL_TYPES; i++)
	{
		int			at;

		if (!pauses_type[i] && agings_us[i] < 0)
			continue;
		at = add_row(result, "policy", model_types[i], pauses_type[i]);
		result_bool(result, at, POLICIES_ASKS_STUCK, false);
		result_int(result, at, POLICIES_AGING_MS, model_aging_us(i) / 1000);
	}
	for (int i = 0; i < MODEL_BUCKETS; i++)
		(void) add_row(result, "bucket", model_buckets[i], pauses_bucket[i]);
	return result;
}

/* ---- people pause ---- */

static void
toggle(bool *pause)
{
	*pause = !*pause;
	server_notify(CHANNEL_CONFIG, "");
}

void
model_pause_type(int type)
{
	toggle(&pauses_type[type]);
	act_tell("type %s %s", model_types[type], pauses_type[type] ? "is paused" : "goes on");
}

void
model_pause_bucket(int bucket)
{
	toggle(&pauses_bucket[bucket]);
	act_tell("bucket %s %s", model_buckets[bucket], pauses_bucket[bucket] ? "is paused" : "goes on");
}

void
model_pause_any(void)
{
	if (world_happens(700))
		model_pause_type((int) world_between(0, MODEL_TYPES - 1));
	else
		model_pause_bucket((int) world_between(0, MODEL_BUCKETS - 1));
}

void
model_resume_types(void)
{
	bool		is_changed = false; /* news for nothing makes nodes sweep */

	for (int i = 0; i < MODEL_TYPES; i++)
		is_changed |= pauses_type[i];
	for (int i = 0; i < MODEL_BUCKETS; i++)
		is_changed |= pauses_bucket[i];
	memset(pauses_type, 0, sizeof(pauses_type));
	memset(pauses_bucket, 0, sizeof(pauses_bucket));
	if (is_changed)
		server_notify(CHANNEL_CONFIG, "");
}

/* ---- people let tasks rise ---- */

static int64
any_aging_us(void)
{
	static const int ms[] = {100, 300, 500, 700, 1000, 2000, 5000, 15000};

	return MS_TO_US(ms[world_between(0, lengthof(ms) - 1)]);
}

void
model_choose_agings(void)
{
	for (int i = 0; i < MODEL_TYPES; i++)
		if (world_happens(600))
			agings_us[i] = any_aging_us();
}

void
model_set_aging(int type, int64 us)
{
	agings_us[type] = us;
	server_notify(CHANNEL_CONFIG, "");
}

void
model_change_any_aging(void)
{
	int			type = (int) world_between(0, MODEL_TYPES - 1);
	int64		us = world_happens(300) ? 0 : any_aging_us();

	act_tell("tasks of type %s rise after %.1f s", model_types[type], us / 1e6);
	model_set_aging(type, us);
}

int64
model_aging_us(int type)
{
	return Max(agings_us[type], 0);
}

int64
model_shortest_aging_us(void)
{
	int64		shortest_us = 0;

	for (int i = 0; i < MODEL_TYPES; i++)
		if (agings_us[i] > 0 && (shortest_us == 0 || agings_us[i] < shortest_us))
			shortest_us = agings_us[i];
	return shortest_us;
}
