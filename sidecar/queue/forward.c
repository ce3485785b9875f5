/*-------------------------------------------------------------------------
 *
 * forward.c
 *		Triggers that pass through Kafka, from nodes without a free slot.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/hello.h"
#include "helper/helper.h"
#include "protocol/trigger_line.h"
#include "queue/forward.h"

struct Forward
{
	const Config *config;
	Tables	   *tables;
	Sweep	   *sweep;
	Helper	   *helper;
	StringInfoData line;		/* the last one that was sent */
	bool		passes;			/* the helper can send triggers now */
	bool		is_leaving;
};

/* ---- lines of the helper ---- */

static void
on_ready(void *arg)
{
	((Forward *) arg)->passes = true;
}

static void
take_trigger(Forward *forward, int bucket, const Trigger *trigger)
{
	if (bucket < forward->config->nbuckets)
		tables_push(forward->tables, bucket, trigger);
}

/* {"sweep":BUCKET} */
static bool
read_sweep(const Forward *forward, const char *line, int *bucket)
{
	static const char begin[] = "{\"sweep\":";
	char	   *end;
	long		number;

	if (strncmp(line, begin, strlen(begin)) != 0)
		return false;
	number = strtol(line + strlen(begin), &end, 10);
	*bucket = (int) number;
	return end > line + strlen(begin) && strcmp(end, "}") == 0 && number >= 0 && number < forward->config->nbuckets;
}

static void
on_line(void *arg, const char *line, size_t len)
{
	Forward    *forward = arg;
	Trigger		trigger;
	int			bucket;

	if (trigger_line_read(line, len, "got", &bucket, &trigger) ||
		trigger_line_read(line, len, "back", &bucket, &trigger))
		take_trigger(forward, bucket, &trigger);
	else if (read_sweep(forward, line, &bucket))
		sweep_want(forward->sweep, bucket);
	else if (strncmp(line, "{\"pass\":", strlen("{\"pass\":")) == 0)
		forward->passes = strcmp(line, "{\"pass\":true}") == 0;
}

/* Triggers may be lost with the process: their tasks are in the database. */
static void
on_gone(void *arg)
{
	Forward    *forward = arg;

	forward->passes = false;
	if (!forward->is_leaving)
		sweep_want_all(forward->sweep);
}

/* ---- triggers ---- */

static bool
send(Forward *forward, int bucket, const Trigger *trigger)
{
	resetStringInfo(&forward->line);
	trigger_line_add(&forward->line, "send", bucket, trigger);
	return helper_send(forward->helper, forward->line.data, forward->line.len - 1);
}

void
forward_trigger(Forward *forward, int bucket, const Trigger *trigger)
{
	if (tables_can_start(forward->tables, bucket, trigger) || !forward->passes ||
		!send(forward, bucket, trigger))
		tables_push(forward->tables, bucket, trigger);
}

/* ---- the helper ---- */

static void
run_helper(Forward *forward)
{
	const Config *config = forward->config;
	json_t	   *settings = kafka_options_told(&config->kafka);
	json_t	   *log = hello_settings(&log_section, &config->log);
	json_t	   *buckets = json_array();
	char	   *hello;

	for (int i = 0; i < config->nbuckets; i++)
		json_array_append_new(buckets, json_string(config->buckets[i]));
	json_object_update(settings, log);
	json_decref(log);
	json_object_set_new(settings, "buckets", buckets);
	hello = hello_make(config->node, settings, &kafka_section, &config->kafka);
	helper_run(forward->helper, hello);
	pfree(hello);
}

/* Kerberos, OpenSSL and Cyrus SASL read these variables of librdkafka's process. */
static const char *const variables[] = {"KRB5", "SSL_CERT_", "OPENSSL_CONF", "SASL_", NULL};

Forward *
forward_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep)
{
	static const HelperProgram program = {
		.component = "kafka",
		.subject = "helper \"triggers\"",
		.bundled = "kafka",
		.use = "triggers",
		.variables = variables,
		.leave_us = SECONDS_TO_US(5),
		.on_ready = on_ready,
		.on_line = on_line,
		.on_gone = on_gone
	};
	Forward    *forward = palloc0(sizeof(Forward));

	forward->config = config;
	forward->tables = tables;
	forward->sweep = sweep;
	initStringInfo(&forward->line);
	forward->helper = helper_new(loop, &program, forward);
	run_helper(forward);
	return forward;
}

void
forward_reload(Forward *forward, const Config *config)
{
	forward->config = config;
	if (!forward->is_leaving)
		run_helper(forward);
}

void
forward_leave(Forward *forward)
{
	forward->is_leaving = true;
	forward->passes = false;
	helper_end(forward->helper, "this sidecar stops");
}

bool
forward_has_left(const Forward *forward)
{
	return helper_is_down(forward->helper);
}

void
forward_add_troubles(const Forward *forward, json_t *list)
{
	helper_add_trouble(forward->helper, list);
}

void
forward_free(Forward *forward)
{
	helper_free(forward->helper);
	pfree(forward->line.data);
	pfree(forward);
}
