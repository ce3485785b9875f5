/*-------------------------------------------------------------------------
 *
 * metrics_text.c
 *		Metrics in the text format 0.0.4 of Prometheus.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "metrics/metrics_text.h"

static void
write_times(const Metrics *metrics, StringInfo out, TimeKind kind, const char *name, const char *help)
{
	TypeFigures figures;

	prometheus_begin(out, name, "histogram", help);
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		if (figures.times != NULL)
			prometheus_histogram(out, name, figures.labels, &figures.times[kind]);
}

static void
write_statements(const Metrics *metrics, StringInfo out)
{
	prometheus_begin(out, "grab_seconds", "histogram", "Time from a grab statement to its answer.");
	prometheus_histogram(out, "grab_seconds", NULL, metrics_of_statement(metrics, STATEMENT_GRAB));
	prometheus_begin(out, "finish_seconds", "histogram", "Time from a finish statement to its answer.");
	prometheus_histogram(out, "finish_seconds", NULL, metrics_of_statement(metrics, STATEMENT_FINISH));
}

/* ---- counters ---- */

static void
write_counter(const Metrics *metrics, StringInfo out, CountKind kind, const char *name, const char *help)
{
	TypeFigures figures;

	prometheus_begin(out, name, "counter", help);
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		prometheus_sample(out, name, figures.labels, figures.counts[kind]);
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
	StringInfoData labels;
	TypeFigures figures;

	initStringInfo(&labels);
	prometheus_begin(out, "tasks_ended_total", "counter", "Results of tries that the database has stored.");
	for (int i = 0; metrics_figures(metrics, i, &figures); i++)
		for (int kind = COUNT_DONE; kind < COUNT_KINDS; kind++)
		{
			resetStringInfo(&labels);
			appendStringInfoString(&labels, figures.labels);
			appendStringInfoString(&labels, ",result=\"");
			appendStringInfoString(&labels, metrics_result(kind));
			appendStringInfoChar(&labels, '"');
			prometheus_sample(out, "tasks_ended_total", labels.data, figures.counts[kind]);
		}
	pfree(labels.data);
}

static void
write_unknown(const Metrics *metrics, StringInfo out)
{
	static const char *const rules[] = {
		[STUCK_ERROR] = "rule=\"error\"",[STUCK_RETRY] = "rule=\"retry\"",[STUCK_FAIL] = "rule=\"fail\""
	};

	prometheus_begin(out, "unknown_outcomes_total", "counter",
					 "Tasks of gone nodes or past their deadline to which this node, as leader, applied the stuck rule.");
	for (int rule = STUCK_ERROR; rule <= STUCK_FAIL; rule++)
		prometheus_sample(out, "unknown_outcomes_total", rules[rule], metrics_of_rule(metrics, rule));
}

static void
write_handlers(const Metrics *metrics, StringInfo out, char *const *handlers, int nhandlers)
{
	prometheus_begin(out, "worker_lines_total", "counter", "Lines with a task or a batch of tasks that were given to worker processes.");
	for (int i = 0; i < nhandlers; i++)
		prometheus_sample(out, "worker_lines_total", handlers[i], metrics_of_handler(metrics, i, HANDLER_LINES));
	prometheus_begin(out, "worker_restarts_total", "counter", "Worker processes that followed one that ended.");
	for (int i = 0; i < nhandlers; i++)
		prometheus_sample(out, "worker_restarts_total", handlers[i], metrics_of_handler(metrics, i, HANDLER_RESTARTS));
	prometheus_begin(out, "worker_protocol_errors_total", "counter", "Worker processes that were ended since they broke the protocol.");
	for (int i = 0; i < nhandlers; i++)
		prometheus_sample(out, "worker_protocol_errors_total", handlers[i],
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
