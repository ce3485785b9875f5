/*-------------------------------------------------------------------------
 *
 * trace_export.c
 *		Spans sent in batches by OTLP over HTTP.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/chance.h"
#include "base/log.h"
#include "base/text.h"
#include "workers/notify/notify_send.h"
#include "workers/notify/trace_export.h"
#include "workers/notify/trace_span.h"

/* A batch waits so long to become full, and so do figures for the sidecar. */
#define COLLECT_US SECONDS_TO_US(1)

#define AGAIN_MIN_US SECONDS_TO_US(1)
#define AGAIN_MAX_US SECONDS_TO_US(30)
#define GIVE_UP_US SECONDS_TO_US(300)

#define TROUBLE_MAX 200

struct TraceExport
{
	Loop	   *loop;
	StringInfo	out;
	const TraceSettings *settings;
	NotifySender *sender;
	char	   *head;
	char	   *waiting[TRACE_WAITING_MAX]; /* a ring of spans */
	int			first;
	int			nwaiting;		/* with the batch under way */
	int			nbatch;			/* first ones under way; 0: none */
	LoopTimer  *timer;			/* the next request */
	int			nfailures;		/* since a batch was last forgotten */
	int64		failed_us;		/* when it failed first */
	LoopTimer  *tell;
	int64		nsent;			/* since the last line */
	int64		ndropped;
	char	   *trouble;		/* NULL: none */
	LoopFn		left;			/* NULL: it goes on */
	void	   *left_arg;
};

/* ---- what the sidecar hears ---- */

static void
on_tell(void *arg)
{
	TraceExport *export = arg;
	json_t	   *told = json_pack("{sIsIss?}", "sent", (json_int_t) export->nsent, "dropped", (json_int_t) export->ndropped,
								 "trouble", export->trouble);
	char	   *text = json_dumps(told, JSON_COMPACT);

	if (text != NULL)
		appendStringInfo(export->out, "%s\n", text);
	free(text);
	json_decref(told);
	export->nsent = export->ndropped = 0;
	loop_want_turn(export->loop);
}

static void
tell_soon(TraceExport *export)
{
	if (!loop_timer_active(export->tell))
		loop_timer_start(export->tell, COLLECT_US);
}

static void
drop(TraceExport *export, int64 n)
{
	export->ndropped += n;
	tell_soon(export);
}

/* A receiver may quote the headers that it got, of which the last word is the secret. */
static bool
has_secret(const TraceExport *export, const char *text)
{
	for (int i = 0; export->settings->headers != NULL && export->settings->headers[i] != NULL; i++)
	{
		const char *line = export->settings->headers[i];
		const char *word = strrchr(line, ' ');

		if (strstr(text, word != NULL ? word + 1 : strchr(line, ':') + 1) != NULL)
			return true;
	}
	return false;
}

/* Logs a trouble that differs from the last one. */
static void
set_trouble(TraceExport *export, const NotifyAnswer *answer)
{
	char	   *text = !has_secret(export, answer->text) ? text_quote_line(answer->text, strlen(answer->text), TROUBLE_MAX) :
		psprintf("HTTP %ld", answer->status);

	if (export->trouble == NULL || strcmp(export->trouble, text) != 0)
		log_line(TWT_LOG_WARN, "traces", "could not send spans: %s", text);
	pfree(export->trouble);
	export->trouble = text;
	tell_soon(export);
}

static void
clear_trouble(TraceExport *export)
{
	if (export->trouble != NULL)
		log_line(TWT_LOG_INFO, "traces", "spans are sent again");
	pfree(export->trouble);
	export->trouble = NULL;
}

/* ---- the batch ---- */

static char *
batch_body(const TraceExport *export)
{
	StringInfoData body;

	initStringInfo(&body);
	appendStringInfoString(&body, export->head);
	for (int i = 0; i < export->nbatch; i++)
	{
		if (i > 0)
			appendStringInfoChar(&body, ',');
		appendStringInfoString(&body, export->waiting[(export->first + i) % TRACE_WAITING_MAX]);
	}
	appendStringInfoString(&body, TRACE_SPAN_TAIL);
	return body.data;
}

static void
forget_batch(TraceExport *export)
{
	for (int i = 0; i < export->nbatch; i++)
		pfree(export->waiting[(export->first + i) % TRACE_WAITING_MAX]);
	export->first = (export->first + export->nbatch) % TRACE_WAITING_MAX;
	export->nwaiting -= export->nbatch;
	export->nbatch = 0;
	export->nfailures = 0;
}

static void
send_batch(TraceExport *export)
{
	char	   *body;
	NotifyRequest request = {.url = export->settings->url, .headers = export->settings->headers};

	export->nbatch = Min(export->nwaiting, TRACE_BATCH_MAX);
	body = batch_body(export);
	request.body = body;
	if (!notify_send(export->sender, &request, export))
	{
		drop(export, export->nbatch);
		forget_batch(export);
	}
	pfree(body);
}

/* Begins the next request, if nothing is under way. */
static void
pump(TraceExport *export)
{
	bool		leaves = export->left != NULL;

	while (export->nbatch == 0 && (export->nwaiting >= TRACE_BATCH_MAX || (leaves && export->nwaiting > 0)))
		send_batch(export);
	if (export->nbatch == 0 && export->nwaiting > 0 && !loop_timer_active(export->timer))
		loop_timer_start(export->timer, COLLECT_US);
	if (leaves && export->nwaiting == 0)
	{
		on_tell(export);
		export->left(export->left_arg);
	}
}

static void
on_timer(void *arg)
{
	TraceExport *export = arg;

	if (export->nbatch == 0 && export->nwaiting > 0)
		send_batch(export);
}

/* ---- answers ---- */

static bool
may_repeat(const TraceExport *export, const NotifyAnswer *answer)
{
	static const long statuses[] = {0, 429, 502, 503, 504};

	for (size_t i = 0; i < lengthof(statuses); i++)
		if (answer->status == statuses[i])
			return export->left == NULL &&
				(export->nfailures == 0 || loop_now_us(export->loop) - export->failed_us < GIVE_UP_US);
	return false;
}

static void
repeat_later(TraceExport *export, const NotifyAnswer *answer)
{
	int64		delay_us = Min(AGAIN_MIN_US << Min(export->nfailures, 10), AGAIN_MAX_US);

	if (export->nfailures++ == 0)
		export->failed_us = loop_now_us(export->loop);
	export->nbatch = 0;
	loop_timer_start(export->timer, answer->again_us > 0 ? Min(answer->again_us, GIVE_UP_US) : chance_delay(delay_us));
}

/* {"partialSuccess":{"rejectedSpans":"N"}}; the number may be text or not. */
static int
rejected_spans(const TraceExport *export, const NotifyAnswer *answer)
{
	json_t	   *body = json_loads(answer->body, 0, NULL);
	const json_t *rejected = json_object_get(json_object_get(body, "partialSuccess"), "rejectedSpans");
	const char *text = json_string_value(rejected);
	int64		n = text != NULL ? strtoll(text, NULL, 10) : json_integer_value(rejected);

	json_decref(body);
	return (int) Min(Max(n, 0), export->nbatch);
}

static void
take_answer(TraceExport *export, const NotifyAnswer *answer)
{
	int			nrejected = notify_was_sent(answer) ? rejected_spans(export, answer) : export->nbatch;

	if (nrejected > 0)
		set_trouble(export, answer);
	else
		clear_trouble(export);
	export->nsent += export->nbatch - nrejected;
	drop(export, nrejected);
	forget_batch(export);
}

static void
on_answer(void *arg, const NotifyAnswer *answer)
{
	TraceExport *export = arg;

	if (may_repeat(export, answer))
	{
		set_trouble(export, answer);
		repeat_later(export, answer);
		return;
	}
	take_answer(export, answer);
	pump(export);
}

/* ---- lines of the sidecar ---- */

void
trace_export_take(TraceExport *export, const char *line, size_t len)
{
	static const char trace[] = "{\"trace\"";
	char	   *span;

	if (strncmp(line, trace, strlen(trace)) != 0)
		return;
	span = export->nwaiting < TRACE_WAITING_MAX ? trace_span_make(line, len) : NULL;
	if (span == NULL)
	{
		drop(export, 1);
		return;
	}
	export->waiting[(export->first + export->nwaiting++) % TRACE_WAITING_MAX] = span;
	if (export->nfailures == 0)
		pump(export);
}

/* ---- new, leave ---- */

TraceExport *
trace_export_new(Loop *loop, StringInfo out, const TraceSettings *settings)
{
	TraceExport *export = palloc0(sizeof(TraceExport));

	export->loop = loop;
	export->out = out;
	export->settings = settings;
	export->sender = notify_sender_new(loop, on_answer);
	export->head = trace_span_head(settings);
	export->timer = loop_timer_new(loop, on_timer, export);
	export->tell = loop_timer_new(loop, on_tell, export);
	log_init(settings->log.format, settings->log.level, settings->node);
	return export;
}

void
trace_export_leave(TraceExport *export, LoopFn done, void *arg)
{
	loop_timer_stop(export->timer);
	export->left = done;
	export->left_arg = arg;
	pump(export);
}
