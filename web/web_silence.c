/*-------------------------------------------------------------------------
 *
 * web_silence.c
 *		Whether any sidecar counts tasks, and people told if none does.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "notify/notify.h"
#include "pg/pg.h"
#include "web/web_silence.h"

/* The time between two questions: usually, and while no sidecar counts. */
#define LOOK_US SECONDS_TO_US(15)
#define SILENT_LOOK_US SECONDS_TO_US(5)

struct WebSilence
{
	Loop	   *loop;
	LoopTimer  *timer;			/* the next question */
	Pg		   *pg;
	Notify	   *notify;
	bool		is_silent;		/* as the database said last */
};

static const PgStatement limit = {"limit_silence", "SELECT pg_catalog.set_config('statement_timeout', '10s', false)"};
static const PgStatement judge_silence = {"judge_silence", "SELECT twtasks.judge_silence()", .is_newer = true, .answer = "1b"};

/* An answer that is lost changes nothing. */
static void
on_judged(void *arg, PgOutcome outcome, PGresult *result)
{
	WebSilence *silence = arg;

	if (outcome == PG_DONE)
		silence->is_silent = wire_get_bool(result, 0, 0);
	loop_timer_start(silence->timer, silence->is_silent ? SILENT_LOOK_US : LOOK_US);
	if (silence->is_silent)
		notify_ask(silence->notify);
	loop_want_turn(silence->loop);
}

static void
ask(void *arg)
{
	WebSilence *silence = arg;

	if (pg_is_up(silence->pg))
		pg_send(silence->pg, &judge_silence, NULL, on_judged, silence);
}

/* A session without a limit might wait for its answer without an end. */
static void
on_limited(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_FAILED)
		pg_reset(((WebSilence *) arg)->pg, "could not set statement_timeout");
}

static void
on_state(void *arg, bool is_up)
{
	WebSilence *silence = arg;

	if (!is_up)
		return;
	pg_send(silence->pg, &limit, NULL, on_limited, silence);
	/* sidecars may have lost the same server, and count again by then */
	loop_timer_start(silence->timer, LOOK_US);
}

static const char *
why_not(void *arg)
{
	return ((WebSilence *) arg)->is_silent ? NULL : "sidecars count tasks";
}

void
web_silence_pump(WebSilence *silence)
{
	notify_pump(silence->notify);
}

WebSilence *
web_silence_open(Loop *loop, const WebConfig *config)
{
	WebSilence *silence = palloc0(sizeof(WebSilence));
	NotifyOwner owner = {.why_not = why_not, .arg = silence, .is_deputy = true};

	silence->loop = loop;
	silence->timer = loop_timer_new(loop, ask, silence);
	owner.pg = silence->pg = pg_new(loop, config->postgres, "silence", on_state, silence);
	silence->notify = notify_open(loop, &config->notify, &owner);
	pg_start(silence->pg);
	return silence;
}

void
web_silence_set_config(WebSilence *silence, const WebConfig *config)
{
	notify_reload(silence->notify, &config->notify);
}

void
web_silence_stop(WebSilence *silence)
{
	notify_stop(silence->notify);
}

bool
web_silence_is_down(const WebSilence *silence)
{
	return notify_is_down(silence->notify);
}

void
web_silence_close(WebSilence *silence)
{
	loop_timer_stop(silence->timer);
	pg_close(silence->pg);
	notify_free(silence->notify);
	loop_timer_free(silence->timer);
	pfree(silence);
}
