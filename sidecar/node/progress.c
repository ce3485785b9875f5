/*-------------------------------------------------------------------------
 *
 * progress.c
 *		How far running tasks are, as their workers report.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "calls/calls.h"
#include "node/progress.h"

#define COLLECT_US SECONDS_TO_US(1)
#define FORGET_US SECONDS_TO_US(60)

/* Further tasks wait for the next report. */
#define NEWS_MAX 10000

/* The database keeps fewer characters. */
#define NOTE_BYTES 800

typedef struct News
{
	uint8		id[TASK_ID_BYTES];
	int64		version;
	int			percent;
	char	   *note;			/* NULL: none */
} News;

struct Progress
{
	Loop	   *loop;
	Node	   *node;
	LoopTimer  *timer;
	Map		   *news;			/* by id */
	bool		is_collecting;	/* the timer runs for news */
	bool		is_sent;		/* an answer is under way */
	bool		is_ascii;		/* the database refused notes: its encoding
								 * may lack characters */
};

static void
clear_news(Progress *progress)
{
	uint64		place = 0;
	News	   *news;

	while ((news = map_next(progress->news, &place)) != NULL)
	{
		pfree(news->note);
		pfree(news);
	}
	map_clear(progress->news);
}

static void
collect(Progress *progress)
{
	if (!progress->is_collecting)
		loop_timer_start(progress->timer, COLLECT_US);
	progress->is_collecting = true;
}

static void
on_noted(void *arg, PgOutcome outcome, PGresult *result)
{
	Progress   *progress = arg;

	progress->is_sent = false;
	progress->is_ascii |= outcome == PG_FAILED && strcmp(pg_sqlstate(result), "22P05") == 0;
	if (map_count(progress->news) > 0)
		collect(progress);
	else if (outcome == PG_DONE && wire_get_int(result, 0, 0) > 0)
		loop_timer_start(progress->timer, FORGET_US);
}

static void
add_news(const Progress *progress, WireParams *params, WireType type, int which)
{
	uint64		place = 0;
	const News *news;

	wire_add_array(params, type, map_count(progress->news));
	while ((news = map_next(progress->news, &place)) != NULL)
		switch (which)
		{
			case 0:
				wire_uuid(params, news->id);
				break;
			case 1:
				wire_int8(params, news->version);
				break;
			case 2:
				wire_int8(params, news->percent);
				break;
			default:
				wire_text(params, news->note);
				break;
		}
}

static void
on_timer(void *arg)
{
	static const WireType types[] = {WIRE_UUID, WIRE_INT8, WIRE_INT8, WIRE_TEXT};
	Progress   *progress = arg;
	WireParams	params;

	progress->is_collecting = false;
	if (progress->is_sent)
		return;
	if (!pg_is_up(node_pg(progress->node)))
	{
		collect(progress);
		return;
	}
	progress->is_sent = true;
	wire_init(&params);
	for (int i = 0; i < (int) lengthof(types); i++)
		add_news(progress, &params, types[i], i);
	clear_news(progress);
	pg_send(node_pg(progress->node), &call_note_progress, &params, on_noted, progress);
}

Progress *
progress_open(Loop *loop, Node *node)
{
	Progress   *progress = palloc0(sizeof(Progress));

	progress->loop = loop;
	progress->node = node;
	progress->news = map_new(TASK_ID_BYTES);
	progress->timer = loop_timer_new(loop, on_timer, progress);
	return progress;
}

void
progress_free(Progress *progress)
{
	clear_news(progress);
	map_free(progress->news);
	loop_timer_free(progress->timer);
	pfree(progress);
}

/* At most NOTE_BYTES, without a part of a character at the end. */
static char *
copy_note(const Progress *progress, const char *message)
{
	size_t		len = strlen(message);
	char	   *note;

	if (len > NOTE_BYTES)
		for (len = NOTE_BYTES; len > 0 && (message[len] & 0xC0) == 0x80; len--)
			;
	note = pnstrdup(message, len);
	for (char *at = note; progress->is_ascii && *at; at++)
		if ((unsigned char) *at >= 0x80)
			*at = '?';
	return note;
}

void
progress_note(Progress *progress, const Task *task, int percent, const char *message)
{
	News	   *news;

	if (progress == NULL)
		return;
	news = map_get(progress->news, task->id);
	if (news == NULL && map_count(progress->news) >= NEWS_MAX)
		return;
	if (news == NULL)
	{
		news = palloc0(sizeof(News));
		memcpy(news->id, task->id, TASK_ID_BYTES);
		map_set(progress->news, news->id, news);
	}
	pfree(news->note);
	news->version = task->version;
	news->percent = percent;
	news->note = message == NULL ? NULL : copy_note(progress, message);
	if (!progress->is_sent)
		collect(progress);
}
