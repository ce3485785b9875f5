/*-------------------------------------------------------------------------
 *
 * tracer.c
 *		Spans on their way to a receiver: "twtasks-notify traces".
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "helper/helper.h"
#include "metrics/metrics_text.h"
#include "trace/tracer.h"

/* Tries that wait for a helper to be ready. */
#define WAITING_MAX 10000

/* The helper's last request, at a drain. */
#define LEAVE_US SECONDS_TO_US(5)

#define TOO_MANY "too many for their helper"

/* The time between two warnings of drops. */
#define WARN_US SECONDS_TO_US(60)

struct Tracer
{
	Loop	   *loop;
	const Config *config;
	Spans	   *spans;
	Helper	   *helper;
	StringInfoData waiting;		/* lines with their ends */
	int			nwaiting;
	int64		nhanded;		/* tries that the helper has now */
	int64		nsent;
	int64		ndropped;
	int64		warned_us;		/* loop time of the last warning; 0: none */
	int64		nwarned;		/* drops that it told */
	char	   *trouble;		/* as the helper told it last; NULL: none */
};

/* ---- drops ---- */

static void
drop(Tracer *tracer, int64 n, const char *why)
{
	int64		now_us = loop_now_us(tracer->loop);

	tracer->ndropped += n;
	if (n == 0 || (tracer->warned_us != 0 && now_us - tracer->warned_us < WARN_US))
		return;
	log_line(TWT_LOG_WARN, "traces", "dropped spans of " INT64_FORMAT " tries: %s", tracer->ndropped - tracer->nwarned,
			 tracer->trouble != NULL ? tracer->trouble : why);
	tracer->warned_us = now_us;
	tracer->nwarned = tracer->ndropped;
}

/* ---- to the helper ---- */

static void
keep(Tracer *tracer, const char *line, size_t len)
{
	if (tracer->nwaiting == WAITING_MAX || tracer->config->traces.line == NULL)
	{
		drop(tracer, 1, TOO_MANY);
		return;
	}
	appendBinaryStringInfo(&tracer->waiting, line, (int) len);
	appendStringInfoChar(&tracer->waiting, '\n');
	tracer->nwaiting++;
}

static void
hand_over(Tracer *tracer, const char *line, size_t len)
{
	if (helper_send(tracer->helper, line, len))
		tracer->nhanded++;
	else
		drop(tracer, 1, TOO_MANY);
}

static void
on_span(void *arg, const char *line, size_t len)
{
	Tracer	   *tracer = arg;

	if (helper_is_ready(tracer->helper))
		hand_over(tracer, line, len);
	else
		keep(tracer, line, len);
}

static void
drop_waiting(Tracer *tracer, const char *why)
{
	drop(tracer, tracer->nwaiting, why);
	resetStringInfo(&tracer->waiting);
	tracer->nwaiting = 0;
}

static void
on_ready(void *arg)
{
	Tracer	   *tracer = arg;

	/* in one piece, which its input takes whatever its length */
	if (tracer->nwaiting > 0 && helper_send(tracer->helper, tracer->waiting.data, tracer->waiting.len - 1))
	{
		tracer->nhanded += tracer->nwaiting;
		tracer->nwaiting = 0;
	}
	drop_waiting(tracer, TOO_MANY);
}

/* ---- from the helper ---- */

/* {"sent":N,"dropped":N,"trouble":TEXT or null}: since the last such line. */
static void
on_line(void *arg, const char *line, size_t len)
{
	Tracer	   *tracer = arg;
	json_t	   *told = json_loadb(line, len, 0, NULL);
	int64		nsent = json_integer_value(json_object_get(told, "sent"));
	int64		ndropped = json_integer_value(json_object_get(told, "dropped"));
	const char *trouble = json_string_value(json_object_get(told, "trouble"));

	pfree(tracer->trouble);
	tracer->trouble = trouble == NULL ? NULL : pstrdup(trouble);
	tracer->nhanded -= nsent + ndropped;
	tracer->nsent += nsent;
	drop(tracer, ndropped, TOO_MANY);
	json_decref(told);
}

static void
on_gone(void *arg)
{
	Tracer	   *tracer = arg;

	drop(tracer, tracer->nhanded, "their helper has ended");
	tracer->nhanded = 0;
	pfree(tracer->trouble);
	tracer->trouble = NULL;
}

static const HelperProgram program = {
	.component = "traces",
	.subject = "helper \"traces\"",
	.bundled = "notify",
	.use = "traces",
	.leave_us = LEAVE_US,
	.on_ready = on_ready,
	.on_line = on_line,
	.on_gone = on_gone
};

/* ---- what is known of it ---- */

void
tracer_add_troubles(void *arg, json_t *list)
{
	const Tracer *tracer = arg;

	if (tracer->trouble != NULL)
		json_array_append_new(list, json_sprintf("traces: %s", tracer->trouble));
	helper_add_trouble(tracer->helper, list);
}

void
tracer_write(const Tracer *tracer, StringInfo out)
{
	prometheus_begin(out, "traced_tries_total", "counter", "Tries whose spans the receiver took, or that were dropped.");
	prometheus_sample(out, "traced_tries_total", "result=\"sent\"", tracer->nsent);
	prometheus_sample(out, "traced_tries_total", "result=\"dropped\"", tracer->ndropped);
}

/* ---- open, reload, end, free ---- */

/* Tries that wait for a helper wait in vain then. */
static void
end(Tracer *tracer, const char *why)
{
	drop_waiting(tracer, "their helper was not ready");
	helper_end(tracer->helper, why);
}

static void
run(Tracer *tracer)
{
	if (tracer->config->traces.line != NULL)
		helper_run(tracer->helper, tracer->config->traces.line);
	else
		end(tracer, "there are no traces any more");
}

Tracer *
tracer_open(Loop *loop, const Config *config)
{
	Tracer	   *tracer = palloc0(sizeof(Tracer));

	tracer->loop = loop;
	tracer->config = config;
	initStringInfo(&tracer->waiting);
	tracer->helper = helper_new(loop, &program, tracer);
	tracer->spans = spans_open(config);
	spans_on_end(tracer->spans, on_span, tracer);
	run(tracer);
	return tracer;
}

Spans *
tracer_spans(const Tracer *tracer)
{
	return tracer->spans;
}

void
tracer_reload(Tracer *tracer, const Config *config)
{
	tracer->config = config;
	spans_reload(tracer->spans, config);
	/* the file may have another secret now */
	if (config->traces.headers_file != NULL)
		helper_renew(tracer->helper);
	run(tracer);
}

bool
tracer_end(Tracer *tracer)
{
	if (helper_has_input(tracer->helper))
		return false;
	end(tracer, "this sidecar stops");
	return helper_is_down(tracer->helper);
}

void
tracer_free(Tracer *tracer)
{
	helper_free(tracer->helper);
	spans_free(tracer->spans);
	pfree(tracer->waiting.data);
	pfree(tracer->trouble);
	loop_defer_free(tracer->loop, tracer);
}
