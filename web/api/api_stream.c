#include "base/port.h"

#include <microhttpd.h>

#include "base/map.h"
#include "base/task.h"
#include "lib/ilist.h"
#include "web/api/api_stream.h"
#include "web/http_stream.h"

#define OVERVIEW "overview"

/* Routes whose answers are about one task. */
static const char *const task_routes[] = {"task", "task_life", "task_attempts", "task_why", NULL};

typedef struct Stream
{
	dlist_node	node;			/* the oldest first */
	ApiStreams *streams;
	char	   *person;
	HttpRequest *request;		/* NULL: it has been answered */
	HttpStream *http;			/* NULL: not yet */
	bool		is_looked_at;	/* its names are those of the last look */
	bool		has_begun;		/* it has told all its names, and is not down */
	int			nids;
	char		(*ids)[TASK_ID_TEXT + 1];
} Stream;

/* A name, as the look before knows it. */
typedef struct Known
{
	char		name[TASK_ID_TEXT + 1];
	char	   *state;			/* "": a task that is not there */
	bool		is_live;
} Known;

struct ApiStreams
{
	Loop	   *loop;
	ApiCache   *cache;
	ApiStreamLook look;
	void	   *arg;
	LoopTimer  *timer;			/* the next look */
	LoopTimer  *late;			/* this look takes too long */
	int64		looked_us;		/* the last one began */
	int64		full_us;		/* the last full one began */
	bool		is_full;		/* the last one read the history for all tasks */
	bool		is_looking;
	bool		is_late;		/* ... for too long */
	bool		is_down;		/* the last look failed, or is late */
	dlist_head	all;
	int			n;
	Map		   *known;			/* by name, as of the look before */
};

/* ---- streams ---- */

static void
free_stream(Stream *stream)
{
	dlist_delete(&stream->node);
	stream->streams->n--;
	pfree(stream->person);
	pfree(stream->ids);
	pfree(stream);
}

static void
on_closed(void *arg)
{
	free_stream(arg);
}

/* Ends a stream; problem: for a client that waits for it. */
static void
end_stream(Stream *stream, const ApiAnswer *problem)
{
	if (stream->http != NULL)
		http_stream_close(stream->http);
	else
		api_answer_send(problem, stream->request);
	free_stream(stream);
}

/* Makes room for one more stream of the person. */
static void
end_oldest(ApiStreams *streams, const char *person)
{
	Stream	   *oldest = NULL;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &streams->all)
	{
		Stream	   *stream = dlist_container(Stream, node, iter.cur);

		if (strcmp(stream->person, person) != 0)
			continue;
		if (n++ == 0)
			oldest = stream;
	}
	if (n >= API_STREAMS_OF_ONE)
	{
		ApiAnswer  *problem = api_answer_problem(problem_of("too_many_streams"), NULL, NULL);

		end_stream(oldest, problem);
		api_answer_free(problem);
	}
}

/* Between the braces of the array are ids of one length, with commas. */
static void
take_ids(Stream *stream, const char *array)
{
	size_t		len = array == NULL ? 0 : strlen(array);

	stream->nids = (int) (len / (TASK_ID_TEXT + 1));
	stream->ids = palloc0((stream->nids + 1) * sizeof(*stream->ids));
	for (int i = 0; i < stream->nids; i++)
		memcpy(stream->ids[i], array + 1 + i * (TASK_ID_TEXT + 1), TASK_ID_TEXT);
}

/* ---- looks ---- */

static void
add_id(StringInfo array, const char *id)
{
	appendStringInfo(array, "%s%s", array->len > 1 ? "," : "", id);
}

/* Whether a look leaves the task out where it reads the history. */
static bool
has_ended(const ApiStreams *streams, const char *id)
{
	const Known *known = map_get(streams->known, id);

	return known != NULL && !known->is_live && !streams->is_full;
}

static void
add_ids(const Stream *stream, StringInfo ids, StringInfo ended)
{
	for (int i = 0; i < stream->nids; i++)
	{
		add_id(ids, stream->ids[i]);
		if (has_ended(stream->streams, stream->ids[i]))
			add_id(ended, stream->ids[i]);
	}
}

static void
begin_look(ApiStreams *streams)
{
	streams->looked_us = loop_now_us(streams->loop);
	streams->is_full = streams->looked_us >= streams->full_us + API_STREAM_FULL_US;
	if (streams->is_full)
		streams->full_us = streams->looked_us;
	streams->is_looking = true;
	loop_timer_start(streams->late, API_LATE_US);
}

static void
look(void *arg)
{
	ApiStreams *streams = arg;
	StringInfoData ids;
	StringInfoData ended;
	dlist_iter	iter;

	if (streams->n == 0)
		return;
	begin_look(streams);
	initStringInfo(&ids);
	initStringInfo(&ended);
	appendStringInfoChar(&ids, '{');
	appendStringInfoChar(&ended, '{');
	dlist_foreach(iter, &streams->all)
	{
		Stream	   *stream = dlist_container(Stream, node, iter.cur);

		stream->is_looked_at = true;
		add_ids(stream, &ids, &ended);
	}
	appendStringInfoChar(&ids, '}');
	appendStringInfoChar(&ended, '}');
	streams->look(streams->arg, ids.data, ended.data);
	pfree(ids.data);
	pfree(ended.data);
}

/* However many streams begin, there is one look in a period. */
static void
want_look(ApiStreams *streams)
{
	int64		next_us = streams->looked_us + API_STREAM_LOOK_US;

	if (!streams->is_looking && streams->n > 0 && !loop_timer_active(streams->timer))
		loop_timer_start(streams->timer, Max(next_us - loop_now_us(streams->loop), 0));
}

/* ---- what has changed ---- */

static void
learn(Map *known, const char *name, const char *state, bool is_live)
{
	Known	   *entry = palloc0(sizeof(Known));

	strlcpy(entry->name, name, sizeof(entry->name));
	entry->state = pstrdup(state);
	entry->is_live = is_live;
	map_set(known, entry->name, entry);
}

/* Tasks without a row were not there, or are in the history as before. */
static void
learn_rest(const ApiStreams *streams, Map *known, const Stream *stream)
{
	for (int i = 0; i < stream->nids; i++)
	{
		const char *id = stream->ids[i];
		const Known *before = has_ended(streams, id) ? map_get(streams->known, id) : NULL;

		if (map_get(known, id) == NULL)
			learn(known, id, before == NULL ? "" : before->state, false);
	}
}

static Map *
known_of(ApiStreams *streams, const PGresult *result)
{
	Map		   *known = map_new(0);
	dlist_iter	iter;

	for (int i = 0; i < PQntuples(result); i++)
		if (map_get(known, PQgetvalue(result, i, 0)) == NULL)
			learn(known, PQgetvalue(result, i, 0), PQgetvalue(result, i, 1), strcmp(PQgetvalue(result, i, 2), "live") == 0);
	dlist_foreach(iter, &streams->all)
	{
		const Stream *stream = dlist_container(Stream, node, iter.cur);

		if (stream->is_looked_at)
			learn_rest(streams, known, stream);
	}
	return known;
}

static void
free_known(Map *known)
{
	uint64		place = 0;
	Known	   *entry;

	while ((entry = map_next(known, &place)) != NULL)
	{
		pfree(entry->state);
		pfree(entry);
	}
	map_free(known);
}

static bool
has_changed(const ApiStreams *streams, const Map *now, const char *name)
{
	const Known *before = map_get(streams->known, name);
	const Known *known = map_get(now, name);

	return before == NULL || known == NULL ? before != known : strcmp(before->state, known->state) != 0;
}

static void
tell(const Stream *stream, const Map *now)
{
	const ApiStreams *streams = stream->streams;

	if (!stream->has_begun || has_changed(streams, now, OVERVIEW))
		http_stream_send(stream->http, OVERVIEW, "changed");
	for (int i = 0; i < stream->nids; i++)
		if (!stream->has_begun || has_changed(streams, now, stream->ids[i]))
			http_stream_send(stream->http, "task", stream->ids[i]);
}

/*
 * Clients that are told of a change must not get the answer of before.  Forgets the
 * answers about tasks if one of the tasks has changed.
 */
static void
forget_changed(ApiStreams *streams, const Map *now)
{
	bool		is_task = false;
	dlist_iter	iter;

	if (has_changed(streams, now, OVERVIEW))
		api_cache_forget(streams->cache, OVERVIEW);
	dlist_foreach(iter, &streams->all)
	{
		const Stream *stream = dlist_container(Stream, node, iter.cur);

		for (int i = 0; i < stream->nids && !is_task; i++)
			is_task = has_changed(streams, now, stream->ids[i]);
	}
	for (int i = 0; is_task && task_routes[i] != NULL; i++)
		api_cache_forget(streams->cache, task_routes[i]);
}

/* Returns false if there is no client, or there are too many. */
static bool
begin(Stream *stream)
{
	HttpRequest *request = stream->request;

	stream->request = NULL;
	stream->http = http_stream_open(request, on_closed, stream);
	if (stream->http != NULL)
		return true;
	free_stream(stream);
	return false;
}

static void
tell_all(ApiStreams *streams, const Map *now)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &streams->all)
	{
		Stream	   *stream = dlist_container(Stream, node, iter.cur);

		if (!stream->is_looked_at || (stream->http == NULL && !begin(stream)))
			continue;
		tell(stream, now);
		stream->has_begun = true;
	}
}

/* ---- looks that fail ---- */

static void
tell_down(Stream *stream, const ApiAnswer *problem)
{
	if (stream->has_begun)
		http_stream_send(stream->http, "down", problem->problem);
	stream->has_begun = false;
}

/* Answers of before the failure must not hide it. */
static void
go_down(ApiStreams *streams, const ApiAnswer *problem)
{
	dlist_mutable_iter iter;

	if (!streams->is_down)
		api_cache_drop_answers(streams->cache);
	streams->is_down = true;
	streams->full_us = streams->looked_us - API_STREAM_FULL_US;
	dlist_foreach_modify(iter, &streams->all)
	{
		Stream	   *stream = dlist_container(Stream, node, iter.cur);

		if (stream->http == NULL)
			end_stream(stream, problem);
		else
			tell_down(stream, problem);
	}
}

static void
on_late(void *arg)
{
	ApiStreams *streams = arg;
	ApiAnswer  *problem = api_answer_late();

	streams->is_late = true;
	go_down(streams, problem);
	api_answer_free(problem);
}

static void
end_look(ApiStreams *streams)
{
	loop_timer_stop(streams->late);
	streams->is_looking = false;
	streams->is_late = false;
}

/* ---- the whole ---- */

ApiStreams *
api_streams_new(Loop *loop, ApiCache *cache, ApiStreamLook fn, void *arg)
{
	ApiStreams *streams = palloc0(sizeof(ApiStreams));

	streams->loop = loop;
	streams->cache = cache;
	streams->look = fn;
	streams->arg = arg;
	streams->timer = loop_timer_new(loop, look, streams);
	streams->late = loop_timer_new(loop, on_late, streams);
	streams->looked_us = loop_now_us(loop) - API_STREAM_LOOK_US;
	streams->full_us = streams->looked_us - API_STREAM_FULL_US;
	streams->known = map_new(0);
	dlist_init(&streams->all);
	return streams;
}

void
api_streams_free(ApiStreams *streams)
{
	Assert(streams->n == 0);
	loop_timer_free(streams->timer);
	loop_timer_free(streams->late);
	free_known(streams->known);
	pfree(streams);
}

void
api_streams_open(ApiStreams *streams, HttpRequest *request, const char *person, const char *ids)
{
	Stream	   *stream = palloc0(sizeof(Stream));

	end_oldest(streams, person);
	stream->streams = streams;
	stream->person = pstrdup(person);
	stream->request = request;
	take_ids(stream, ids);
	dlist_push_tail(&streams->all, &stream->node);
	streams->n++;
	if (streams->is_late)
		on_late(streams);
	else
		want_look(streams);
}

void
api_streams_take(ApiStreams *streams, const PGresult *result)
{
	Map		   *now = known_of(streams, result);

	end_look(streams);
	streams->is_down = false;
	forget_changed(streams, now);
	tell_all(streams, now);
	free_known(streams->known);
	streams->known = now;
	want_look(streams);
}

void
api_streams_fail(ApiStreams *streams, const ApiAnswer *problem)
{
	end_look(streams);
	go_down(streams, problem);
	want_look(streams);
}

int
api_streams_count(const ApiStreams *streams)
{
	return streams->n;
}
