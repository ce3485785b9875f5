/*-------------------------------------------------------------------------
 *
 * metrics_text.c
 *		Metrics in the text format 0.0.4 of Prometheus.
 *
 * A scrape may have thousands of samples, and is written in one piece between two
 * turns of the loop.  So samples are put together by hand, without printf(), from
 * labels that were escaped once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "metrics/metrics_text.h"

#define PREFIX "twtasks_"

static void
append_int(StringInfo out, int64 value)
{
	char		digits[24];
	char	   *at = digits + sizeof(digits);
	uint64		rest = value < 0 ? -(uint64) value : (uint64) value;

	do
		*--at = '0' + rest % 10;
	while ((rest /= 10) > 0);
	if (value < 0)
		*--at = '-';
	appendBinaryStringInfo(out, at, digits + sizeof(digits) - at);
}

/* Microseconds as seconds: 250 is 0.00025. */
static void
append_seconds(StringInfo out, int64 us)
{
	char		digits[7] = ".000000";
	int			n = sizeof(digits);

	append_int(out, us / 1000000);
	for (int64 rest = us % 1000000, i = 6; i > 0; i--, rest /= 10)
		digits[i] = '0' + rest % 10;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	if (n > 1)
		appendBinaryStringInfo(out, digits, n);
}

static void
append_name(StringInfo out, const char *name, const char *suffix, const char *labels)
{
	appendStringInfoString(out, PREFIX);
	appendStringInfoString(out, name);
	appendStringInfoString(out, suffix);
	if (labels == NULL)
		return;
	appendStringInfoChar(out, '{');
	appendStringInfoString(out, labels);
	appendStringInfoChar(out, '}');
}

static void
end_sample(StringInfo out, int64 value)
{
	appendStringInfoChar(out, ' ');
	append_int(out, value);
	appendStringInfoChar(out, '\n');
}

void
metrics_begin(StringInfo out, const char *name, const char *kind, const char *help)
{
	appendStringInfo(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, kind);
}

void
metrics_sample(StringInfo out, const char *name, const char *labels, int64 value)
{
	append_name(out, name, "", labels);
	end_sample(out, value);
}

void
metrics_seconds(StringInfo out, const char *name, const char *labels, int64 us)
{
	append_name(out, name, "", labels);
	appendStringInfoChar(out, ' ');
	append_seconds(out, us);
	appendStringInfoChar(out, '\n');
}

/* ---- histograms ---- */

static void
write_bucket(StringInfo out, const char *name, const char *labels, int i, int64 count)
{
	appendStringInfoString(out, PREFIX);
	appendStringInfoString(out, name);
	appendStringInfoString(out, "_bucket{");
	if (labels != NULL)
	{
		appendStringInfoString(out, labels);
		appendStringInfoChar(out, ',');
	}
	appendStringInfoString(out, "le=\"");
	if (i < METRICS_BOUNDS)
		append_seconds(out, metrics_bound_us(i));
	else
		appendStringInfoString(out, "+Inf");
	appendStringInfoString(out, "\"}");
	end_sample(out, count);
}

static void
write_histogram(StringInfo out, const char *name, const char *labels, const Histogram *histogram)
{
	int64		count = 0;

	for (int i = 0; i < METRICS_BUCKETS; i++)
	{
		count += histogram->counts[i];
		write_bucket(out, name, labels, i, count);
	}
	append_name(out, name, "_sum", labels);
	appendStringInfoChar(out, ' ');
	append_seconds(out, histogram->sum_us);
	appendStringInfoChar(out, '\n');
	append_name(out, name, "_count", labels);
	end_sample(out, count);
}

static void
write_times(const Metrics *metrics, StringInfo out, TimeKind kind, const char *name, const char *help)
{
	TypeFigures figures;

	metrics_begin(out, name, "histogram", help);
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		if (figures.times != NULL)
			write_histogram(out, name, figures.labels, &figures.times[kind]);
}

static void
write_statements(const Metrics *metrics, StringInfo out)
{
	metrics_begin(out, "grab_seconds", "histogram", "Time from a grab statement to its answer.");
	write_histogram(out, "grab_seconds", NULL, metrics_of_statement(metrics, STATEMENT_GRAB));
	metrics_begin(out, "finish_seconds", "histogram", "Time from a finish statement to its answer.");
	write_histogram(out, "finish_seconds", NULL, metrics_of_statement(metrics, STATEMENT_FINISH));
}

/* ---- counters ---- */

static void
write_counter(const Metrics *metrics, StringInfo out, CountKind kind, const char *name, const char *help)
{
	TypeFigures figures;

	metrics_begin(out, name, "counter", help);
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		metrics_sample(out, name, figures.labels, figures.counts[kind]);
}

const char *
metrics_result(CountKind kind)
{
	static const char *const results[COUNT_KINDS] = {
		[COUNT_REFUSED] = "refused",
		[COUNT_DONE] = "done",[COUNT_DELETE] = "delete",[COUNT_RETRY] = "retry",
		[COUNT_REPEAT] = "repeat",[COUNT_ERROR] = "error",[COUNT_FAILED] = "failed",
		[COUNT_CANCELLED] = "cancelled",[COUNT_ACCEPTED] = "accepted",[COUNT_RELEASED] = "released"
	};

	return results[kind];
}

static void
write_ended(const Metrics *metrics, StringInfo out)
{
	TypeFigures figures;

	metrics_begin(out, "tasks_ended_total", "counter", "Results of tries that the database has stored.");
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		for (int kind = COUNT_DONE; kind < COUNT_KINDS; kind++)
		{
			appendStringInfoString(out, PREFIX "tasks_ended_total{");
			appendStringInfoString(out, figures.labels);
			appendStringInfoString(out, ",result=\"");
			appendStringInfoString(out, metrics_result(kind));
			appendStringInfoString(out, "\"}");
			end_sample(out, figures.counts[kind]);
		}
}

static void
write_unknown(const Metrics *metrics, StringInfo out)
{
	static const char *const rules[] = {
		[STUCK_ERROR] = "rule=\"error\"",[STUCK_RETRY] = "rule=\"retry\"",[STUCK_FAIL] = "rule=\"fail\""
	};

	metrics_begin(out, "unknown_outcomes_total", "counter",
				  "Tasks of gone nodes or past their deadline to which this node, as leader, applied the stuck rule.");
	for (int rule = STUCK_ERROR; rule <= STUCK_FAIL; rule++)
		metrics_sample(out, "unknown_outcomes_total", rules[rule], metrics_of_rule(metrics, rule));
}

static void
write_handlers(const Metrics *metrics, StringInfo out, char *const *handlers, int nhandlers)
{
	metrics_begin(out, "worker_restarts_total", "counter", "Worker processes that followed one that ended.");
	for (int i = 0; i < nhandlers; i++)
		metrics_sample(out, "worker_restarts_total", handlers[i], metrics_of_handler(metrics, i, HANDLER_RESTARTS));
	metrics_begin(out, "worker_protocol_errors_total", "counter", "Worker processes that were ended since they broke the protocol.");
	for (int i = 0; i < nhandlers; i++)
		metrics_sample(out, "worker_protocol_errors_total", handlers[i],
					   metrics_of_handler(metrics, i, HANDLER_PROTOCOL_ERRORS));
}

void
metrics_write(const Metrics *metrics, StringInfo out, char *const *handlers, int nhandlers)
{
	write_counter(metrics, out, COUNT_GRABS, "grabs_total", "Tasks that this node has grabbed.");
	write_counter(metrics, out, COUNT_LOST_GRABS, "lost_grabs_total", "Triggers whose task another node had, or that had changed.");
	write_counter(metrics, out, COUNT_STARTED, "tasks_started_total", "Tries that this node has started.");
	write_counter(metrics, out, COUNT_REFUSED, "refused_finishes_total", "Results that the database refused, since the task was taken over or changed.");
	write_counter(metrics, out, COUNT_UNREPORTED, "unreported_tasks_total", "Tries whose result this node never reports, since its drain was over.");
	write_ended(metrics, out);
	write_unknown(metrics, out);
	write_times(metrics, out, TIME_WAIT, "wait_seconds", "Time from when a task could run to the start of its handler.");
	write_times(metrics, out, TIME_RUN, "run_seconds", "Time from the start of a handler to its result.");
	write_statements(metrics, out);
	write_handlers(metrics, out, handlers, nhandlers);
}
