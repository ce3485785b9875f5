/*-------------------------------------------------------------------------
 *
 * stand.c
 *		What a sidecar and its candidate tell each other.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "workers/zookeeper/candidacy.h"
#include "workers/zookeeper/stand.h"

/* The longest time between two looks. */
#define LOOK_US SECONDS_TO_US(2)

struct Stand
{
	Loop	   *loop;
	StringInfo	words;
	ZkSettings *settings;		/* NULL: not told yet */
	Candidacy  *candidacy;		/* NULL likewise */
	int64		until_us;		/* the sidecar lets us stand until then */
	LoopTimer  *timer;			/* the next look */
	char	   *told;			/* the last word; NULL: none */
};

/* ---- words ---- */

/* The word of this moment, palloc'd. */
static char *
word(const Stand *stand)
{
	int64		until_us;
	Standing	standing = candidacy_standing(stand->candidacy, &until_us);

	if (standing == STANDING_UNKNOWN)
		return pstrdup("{\"leads\":null}");
	return psprintf("{\"leads\":%s,\"until_ms\":" INT64_FORMAT "}",
					standing == STANDING_FIRST ? "true" : "false", until_us / 1000);
}

static void
tell(Stand *stand)
{
	pfree(stand->told);
	stand->told = word(stand);
	appendStringInfo(stand->words, "%s\n", stand->told);
}

static void
tell_change(void *arg)
{
	Stand	   *stand = arg;
	char	   *now = word(stand);

	if (stand->told == NULL || strcmp(stand->told, now) != 0)
		tell(stand);
	pfree(now);
}

/* ---- looks ---- */

static bool
may_stand(const Stand *stand)
{
	return loop_now_us(stand->loop) < stand->until_us;
}

/* The next look is not later than the end of our permission. */
static void
plan_look(Stand *stand)
{
	int64		delay_us = Min(stand->settings->session_us / 6, LOOK_US);

	if (may_stand(stand))
		delay_us = Min(delay_us, stand->until_us - loop_now_us(stand->loop));
	loop_timer_start(stand->timer, delay_us);
}

/* A sidecar that does not read its pipe gets no more words that say nothing new. */
static void
on_look(void *arg)
{
	Stand	   *stand = arg;

	candidacy_look(stand->candidacy, may_stand(stand));
	if (stand->words->len == 0)
		tell(stand);
	plan_look(stand);
}

/* ---- lines ---- */

Stand *
stand_new(Loop *loop, StringInfo words)
{
	Stand	   *stand = palloc0(sizeof(Stand));

	stand->loop = loop;
	stand->words = words;
	stand->timer = loop_timer_new(loop, on_look, stand);
	return stand;
}

void
stand_set(Stand *stand, ZkSettings *settings)
{
	log_init(settings->log.format, settings->log.level, settings->node);
	if (stand->settings != NULL)
	{
		zk_settings_free(settings);
		return;
	}
	stand->settings = settings;
	stand->candidacy = candidacy_new(stand->loop, settings, tell_change, stand);
	loop_timer_start(stand->timer, 0);
}

/* A look begins or ends the standing. */
void
stand_take(Stand *stand, const char *line)
{
	json_t	   *object = json_loads(line, 0, NULL);
	const json_t *until = json_object_get(object, "stand_until_ms");
	bool		could_stand = may_stand(stand);

	if (json_is_integer(until))
		stand->until_us = MS_TO_US(json_integer_value(until));
	json_decref(object);
	if (may_stand(stand) != could_stand)
		loop_timer_start(stand->timer, 0);
}

void
stand_free(Stand *stand)
{
	if (stand->candidacy != NULL)
		candidacy_free(stand->candidacy);
	loop_timer_free(stand->timer);
	zk_settings_free(stand->settings);
	pfree(stand->told);
	pfree(stand);
}
