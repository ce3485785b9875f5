/*-------------------------------------------------------------------------
 *
 * execute_bundled.c
 *		Handlers whose worker comes with the sidecar: "http" and "kafka".
 *
 *		from: execute.h			to: execute_worker.h
 *
 * The options are settings of the worker, which checks their values.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "process/bundled.h"
#include "execute/worker/execute_worker.h"
#include "execute/worker/http_options.h"

static const Choice networks_choices[] = {
	{"public", NETWORKS_PUBLIC},
	{"any", NETWORKS_ANY},
	{NULL, 0}
};

static const Choice resend_choices[] = {
	{"never", RESEND_NEVER},
	{"unanswered", RESEND_UNANSWERED},
	{NULL, 0}
};

/* The worker is one process that has as many tasks in flight as there are slots. */
static void
settle_bundled(HandlerConfig *config, const char *name)
{
	config->argv = palloc0(2 * sizeof(char *));
	config->argv[0] = bundled_path(name);
	config->processes = 1;
	config->grace_us = SECONDS_TO_US(5);
	config->prefetch = config->concurrency;
	config->directory = pstrdup("/");
	config->told = config->kind;
}

static void
release_bundled(void *target)
{
	HandlerConfig *config = target;

	if (config->argv != NULL)
		pfree(config->argv[0]);
	pfree(config->argv);
	pfree(config->directory);
}

static bool
http_settle(void *target, const Place *place)
{
	settle_bundled(target, "http");
	return handler_settle_statuses(target, place, 100, 599);
}

#define HTTP_FILE(name, member, text) \
	{ \
		name, OPTION_TEXT, .min = 1, .max = 4095, .check = options_check_path, \
		.offset = offsetof(HttpConfig, member), .help = text \
	}

static const Option http_options[] = {
	{
		"http", OPTION_TEXT,
		.min = 1, .max = 8192,
		.offset = offsetof(HttpConfig, url),
		.help = "URL that tasks are posted to"
	},
	{
		"hosts", OPTION_WORDS,
		.min = 1, .max = 1000,
		.offset = offsetof(HttpConfig, hosts),
		.help = "hosts that a task may choose with http_url in its context"
	},
	{
		"networks", OPTION_CHOICE,
		.fallback = "public", .choices = networks_choices,
		.offset = offsetof(HttpConfig, networks),
		.help = "addresses that a host of a task's choice may have"
	},
	HTTP_FILE("secret_file", secret_file, "file with the secrets that sign requests, one per line"),
	{
		"secret_files", OPTION_SETTINGS,
		.offset = offsetof(HttpConfig, secret_files),
		.help = "files with secrets of their own for entries of hosts: the path of each, such as the file of \"hooks.example\""
	},
	HTTP_FILE("headers_file", headers_file,
			  "file with more headers for the handler's own host, one per line"),
	HTTP_FILE("ca_file", ca_file,
			  "file with the certificate authorities that are trusted; default: the system's"),
	{
		"connect_timeout", OPTION_DURATION,
		.fallback = "10s", .min = MS_TO_US(10), .max = SECONDS_TO_US(3600),
		.offset = offsetof(HttpConfig, connect_timeout_us),
		.help = "time limit for making a connection"
	},
	{
		"resend", OPTION_CHOICE,
		.fallback = "never", .choices = resend_choices,
		.offset = offsetof(HttpConfig, resend),
		.help = "whether one try may send a request again that a closed connection left without an answer"
	},
	HANDLER_STATUSES,
	HANDLER_CONCURRENCY("50", ""),
	HANDLER_MAX_OUTPUT,
};

/* The sidecar treats each bundled program as the worker that it is. */
#define BUNDLED_FUNCTIONS \
	.open = worker_open, \
	.reload = worker_greet, \
	.start = worker_start, \
	.stop_task = worker_stop_task, \
	.cancel_task = worker_cancel_task, \
	.trouble = worker_trouble, \
	.crashes = worker_crashes, \
	.give_back = worker_give_back, \
	.close = worker_close

const HandlerKind handler_http = {
	.options = {
		http_options, lengthof(http_options), sizeof(HttpConfig),
		http_settle, release_bundled
	},
	BUNDLED_FUNCTIONS
};

typedef struct KafkaConfig
{
	HandlerConfig common;
	char	   *topic;			/* a name, or a prefix with a * */
	char	  **brokers;
	char	   *settings;		/* settings of librdkafka as a JSON object;
								 * NULL: none */
	char	   *secrets;		/* paths of secret files, by setting */
} KafkaConfig;

/*
 * A message may always be sent again, so the stuck rule is retry whatever
 * option "stuck" says.  A handler with brokers of its own inherits no secrets,
 * which those brokers must not see.
 */
static bool
kafka_settle(void *target, const Place *place)
{
	KafkaConfig *config = target;

	settle_bundled(&config->common, "kafka");
	config->common.is_atomic = true;
	config->common.inherits_kafka = config->brokers == NULL;
	return true;
}

static const Option kafka_options[] = {
	{
		"kafka", OPTION_TEXT,
		.min = 1, .max = 250,
		.offset = offsetof(KafkaConfig, topic),
		.help = "topic that tasks are sent to, or a beginning and a * for topics that tasks name"
	},
	{
		"brokers", OPTION_WORDS,
		.min = 1, .max = 100,
		.offset = offsetof(KafkaConfig, brokers),
		.help = "HOST:PORT of some brokers; default: the brokers of the section kafka, "
		"with its settings and secrets where the handler has none"
	},
	{
		"settings", OPTION_SETTINGS,
		.offset = offsetof(KafkaConfig, settings),
		.help = "settings of librdkafka, such as security.protocol"
	},
	{
		"secrets", OPTION_SETTINGS,
		.offset = offsetof(KafkaConfig, secrets),
		.help = "settings whose values are in files: the path of each, such as the file of sasl.password"
	},
	HANDLER_CONCURRENCY("500", ""),
};

const HandlerKind handler_kafka = {
	.options = {
		kafka_options, lengthof(kafka_options), sizeof(KafkaConfig),
		kafka_settle, release_bundled
	},
	BUNDLED_FUNCTIONS
};
