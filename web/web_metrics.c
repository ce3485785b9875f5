#include "base/port.h"

#include <microhttpd.h>

#include "base/prometheus.h"
#include "common/version.h"
#include "lib/ilist.h"
#include "web/http_access.h"
#include "web/pool.h"
#include "web/web_metrics.h"

/* A request that waits for the answer of the database. */
typedef struct Asker
{
	slist_node	node;
	HttpRequest *request;
} Asker;

struct WebMetrics
{
	Loop	   *loop;
	Http	   *http;
	const WebConfig *config;
	Pool	   *pool;
	WebMetricsFn more;			/* NULL: none */
	void	   *more_arg;
	slist_head	askers;
	bool		is_asking;		/* a call is under way */
	char	   *text;			/* the last answer; NULL: the database had
								 * none */
	int64		until_us;		/* the last answer is fresh so long */
};

/* Parameter: any text. */
static const PgStatement limits = {"limits", "SELECT $1::pg_catalog.text, " POOL_LIMITS};
static const PgStatement metrics_text = {"metrics_text", "SELECT twtasks.metrics_text()", .before = &limits, .answer = "1t"};

static void
answer(const WebMetrics *metrics, HttpRequest *request)
{
	StringInfoData out;

	initStringInfo(&out);
	prometheus_begin(&out, "web_info", "gauge", "The version of twtasks-web.");
	prometheus_sample(&out, "web_info", "version=\"" TWT_VERSION "\"", 1);
	prometheus_begin(&out, "database_up", "gauge", "Whether the database answered.");
	prometheus_sample(&out, "database_up", NULL, metrics->text != NULL);
	http_write_counts(metrics->http, &out);
	if (metrics->more != NULL)
		metrics->more(metrics->more_arg, &out);
	if (metrics->text != NULL)
		appendStringInfoString(&out, metrics->text);
	http_answer_text(request, MHD_HTTP_OK, PROMETHEUS_CONTENT_TYPE, out.data);
	pfree(out.data);
}

static void
on_metrics(void *arg, PoolOutcome outcome, PGresult *result, const char *why)
{
	WebMetrics *metrics = arg;

	(void) why;
	metrics->is_asking = false;
	pfree(metrics->text);
	metrics->text = outcome == POOL_DONE ? pstrdup(PQgetvalue(result, 0, 0)) : NULL;
	metrics->until_us = loop_now_us(metrics->loop) + METRICS_FRESH_US;
	while (!slist_is_empty(&metrics->askers))
	{
		Asker	   *asker = slist_container(Asker, node, slist_pop_head_node(&metrics->askers));

		answer(metrics, asker->request);
		pfree(asker);
	}
}

static void
ask_database(WebMetrics *metrics)
{
	WireParams	params;

	metrics->is_asking = true;
	wire_init(&params);
	wire_add_text(&params, "");
	pool_send(metrics->pool, &metrics_text, &params, on_metrics, metrics);
}

static char *const *
tokens_of(const WebMetrics *metrics)
{
	return metrics->config->metrics_tokens != NULL ? metrics->config->metrics_tokens : metrics->config->tokens;
}

static void
serve_metrics(void *arg, HttpRequest *request)
{
	WebMetrics *metrics = arg;
	Asker	   *asker;

	if (tokens_of(metrics) == NULL && !http_is_our_host(http_header(request, "Host")))
	{
		http_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden", "Requests of other web pages are not taken.");
		return;
	}
	if (!metrics->is_asking && loop_now_us(metrics->loop) < metrics->until_us)
	{
		answer(metrics, request);
		return;
	}
	asker = palloc0(sizeof(Asker));
	asker->request = request;
	slist_push_head(&metrics->askers, &asker->node);
	if (!metrics->is_asking)
		ask_database(metrics);
}

static bool
admits(void *arg, const char *authorization)
{
	char	   *const *tokens = tokens_of(arg);

	return tokens == NULL || http_has_token(authorization, tokens);
}

static const HttpRoute routes[] = {
	{"GET", "/metrics", .serve = serve_metrics, .admits = admits},
};

WebMetrics *
web_metrics_open(Loop *loop, const WebConfig *config, Http *http)
{
	WebMetrics *metrics = palloc0(sizeof(WebMetrics));

	metrics->loop = loop;
	metrics->http = http;
	metrics->config = config;
	metrics->pool = pool_new(loop, config->postgres, "metrics", 1);
	slist_init(&metrics->askers);
	http_add_routes(http, routes, lengthof(routes), metrics);
	return metrics;
}

void
web_metrics_set_config(WebMetrics *metrics, const WebConfig *config)
{
	metrics->config = config;
}

void
web_metrics_add(WebMetrics *metrics, WebMetricsFn fn, void *arg)
{
	metrics->more = fn;
	metrics->more_arg = arg;
}

void
web_metrics_close(WebMetrics *metrics)
{
	pool_close(metrics->pool);
	pfree(metrics->text);
	pfree(metrics);
}
