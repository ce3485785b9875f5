/*-------------------------------------------------------------------------
 *
 * observed.c
 *		The figures and spans of this node, and their way out.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/log.h"
#include "common/version.h"
#include "metrics/metrics_text.h"
#include "node/flow.h"
#include "observed.h"

struct Observed
{
	Loop	   *loop;
	Node	   *node;
	const Served *served;
	Metrics    *metrics;
	Flow	   *flow;
	Progress   *progress;
	Tracer	   *tracer;
	char	   *build;			/* labels of build_info */
	char	   *silent;			/* the last answer of pg_silent() */
	int			nhandlers;
	char	  **handlers;		/* the label of each: its first type */
};

static void
write_gauge(StringInfo out, const char *name, const char *help, int64 value)
{
	prometheus_begin(out, name, "gauge", help);
	prometheus_sample(out, name, NULL, value);
}

static void
write_node(const Observed *observed, StringInfo out)
{
	int64		now_us = loop_now_us(observed->loop);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	prometheus_begin(out, "build_info", "gauge", "The version of this program.");
	prometheus_sample(out, "build_info", observed->build, 1);
	write_gauge(out, "database_up", "Whether the control session is open.", pg_is_up(node_pg(observed->node)));
	write_gauge(out, "leader", "Whether this node leads.", node_is_leader(observed->node));
	prometheus_begin(out, "heartbeat_timestamp_seconds", "gauge", "Time of the last heartbeat that the database has confirmed; 0: none yet.");
	prometheus_seconds(out, "heartbeat_timestamp_seconds", NULL, node_confirmed_us(observed->node) == 0 ? 0 :
					   SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000 - (now_us - node_confirmed_us(observed->node)));
}

static void
write_log(StringInfo out)
{
	static const char *const levels[] = {
		[TWT_LOG_FATAL] = "level=\"fatal\"",[TWT_LOG_ERROR] = "level=\"error\"",[TWT_LOG_WARN] = "level=\"warn\"",
		[TWT_LOG_INFO] = "level=\"info\"",[TWT_LOG_DEBUG] = "level=\"debug\""
	};

	prometheus_begin(out, "log_lines_total", "counter", "Lines of the log, by level.");
	for (int level = TWT_LOG_FATAL; level <= TWT_LOG_DEBUG; level++)
		prometheus_sample(out, "log_lines_total", levels[level], log_lines(level));
}

void
observed_write(void *arg, StringInfo out)
{
	const Observed *observed = arg;

	write_node(observed, out);
	metrics_write(observed->metrics, out, observed->handlers, observed->nhandlers);
	served_write(observed->served, out, observed->handlers);
	write_log(out);
	tracer_write(observed->tracer, out);
}

const char *
observed_trouble(Observed *observed)
{
	const Node *node = observed->node;
	int64		now_us = loop_now_us(observed->loop);

	pfree(observed->silent);
	observed->silent = pg_silent();
	if (!pg_is_up(node_pg(node)))
		return "no database";
	if (node_refusal(node) != NULL)
		return node_refusal(node);
	if (observed->silent != NULL)
		return observed->silent;
	if (pg_misfit(now_us) != NULL)
		return pg_misfit(now_us);
	if (node_may_start(node) != 0)
		return NULL;
	return node_is_locked(node) ? "another transaction locks the row of this node in twtasks.node" :
		"no word from the database";
}

Metrics *
observed_metrics(const Observed *observed)
{
	return observed->metrics;
}

Tracer *
observed_tracer(const Observed *observed)
{
	return observed->tracer;
}

Progress *
observed_progress(const Observed *observed)
{
	return observed->progress;
}

/* version="...",node="..." */
static char *
build_labels(const Config *config)
{
	char	   *version = prometheus_label("version", TWT_VERSION);
	char	   *node = prometheus_label("node", config->node);
	char	   *both = psprintf("%s,%s", version, node);

	pfree(version);
	pfree(node);
	return both;
}

Observed *
observed_open(Loop *loop, const Config *config, Node *node, const Served *served)
{
	Observed   *observed = palloc0(sizeof(Observed));

	observed->loop = loop;
	observed->node = node;
	observed->served = served;
	observed->metrics = metrics_open(config->metrics.types, config->metrics.histogram_types, config->nhandlers);
	observed->flow = flow_open(loop, node, observed->metrics);
	observed->progress = progress_open(loop, node);
	observed->tracer = tracer_open(loop, config);
	observed->build = build_labels(config);
	observed->nhandlers = config->nhandlers;
	observed->handlers = palloc(config->nhandlers * sizeof(char *));
	for (int i = 0; i < config->nhandlers; i++)
		observed->handlers[i] = prometheus_label("handler", config->handlers[i]->types[0]);
	return observed;
}

void
observed_end(Observed *observed)
{
	flow_end(observed->flow);
}

void
observed_free(Observed *observed)
{
	flow_free(observed->flow);
	progress_free(observed->progress);
	tracer_free(observed->tracer);
	metrics_free(observed->metrics);
	for (int i = 0; i < observed->nhandlers; i++)
		pfree(observed->handlers[i]);
	pfree(observed->handlers);
	pfree(observed->build);
	pfree(observed->silent);
	pfree(observed);
}
