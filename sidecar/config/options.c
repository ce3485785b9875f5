/*-------------------------------------------------------------------------
 *
 * options.c
 *		The options of the configuration file, as one table.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/address.h"
#include "base/log.h"
#include "common/trigger.h"
#include "config/options.h"
#include "config/statuses.h"

#define MILLISECONDS(n) MS_TO_US(n)
#define SECONDS(n) SECONDS_TO_US(n)
#define HOURS(n) SECONDS((n) * 3600)
#define DAYS(n) HOURS((n) * 24)

#define IDENTIFIER_MAX 63

#define COMMAND_MODE OPTION_MODE(HANDLER_COMMAND)
#define WORKER_MODE OPTION_MODE(HANDLER_WORKER)
#define SQL_MODE OPTION_MODE(HANDLER_SQL)
#define NOOP_MODE OPTION_MODE(HANDLER_NOOP)
#define HTTP_MODE OPTION_MODE(HANDLER_HTTP)

static const Choice queue_choices[] = {
	{"auto", QUEUE_AUTO},
	{"ring", QUEUE_RING},
	{"notify", QUEUE_NOTIFY},
	{NULL, 0}
};

static const Choice format_choices[] = {
	{"text", LOG_FORMAT_TEXT},
	{"json", LOG_FORMAT_JSON},
	{NULL, 0}
};

static const Choice level_choices[] = {
	{"error", TWT_LOG_ERROR},
	{"warn", TWT_LOG_WARN},
	{"info", TWT_LOG_INFO},
	{"debug", TWT_LOG_DEBUG},
	{NULL, 0}
};

static const Choice stuck_choices[] = {
	{"retry", STUCK_RETRY},
	{"error", STUCK_ERROR},
	{"fail", STUCK_FAIL},
	{"ignore", STUCK_IGNORE},
	{NULL, 0}
};

static const Choice networks_choices[] = {
	{"public", NETWORKS_PUBLIC},
	{"any", NETWORKS_ANY},
	{NULL, 0}
};

static const char *
check_pattern(const char *text)
{
	size_t		len = strlen(text);

	if (strcmp(text, "*") == 0)
		return NULL;
	if (len > 0 && text[len - 1] == '*')
		len--;
	if (trigger_type_valid(text, len))
		return NULL;
	return "a type has letters, digits and _ . : | / -, a pattern is the beginning of one and a *";
}

static const char *
check_bucket(const char *text)
{
	if (trigger_bucket_valid(text, strlen(text)))
		return NULL;
	return "a bucket name has letters, digits, _ and -, at most 48 of them";
}

static const char *
check_environment(const char *text)
{
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_-")] == '\0')
		return NULL;
	return "an environment has letters, digits, _ and -";
}

/* The length of the lower-case identifier at text, or 0. */
static size_t
identifier_length(const char *text)
{
	size_t		len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (len > IDENTIFIER_MAX || (text[0] >= '0' && text[0] <= '9'))
		return 0;
	return len;
}

static const char *
check_function(const char *text)
{
	size_t		schema = identifier_length(text);

	if (schema > 0 && text[schema] == '.')
	{
		const char *name = text + schema + 1;
		size_t		len = identifier_length(name);

		if (len > 0 && name[len] == '\0')
			return NULL;
	}
	return "it must be schema.function, both of lower-case letters, digits and _";
}

/* SET ROLE would take "none" for the session's own role, even when quoted. */
static const char *
check_role(const char *text)
{
	if (strcmp(text, "none") == 0)
		return "it is not the name of a role";
	return NULL;
}

static const char *
check_directory(const char *text)
{
	return text[0] == '/' ? NULL : "the path must be absolute";
}

static const char *
check_listen(const char *text)
{
	Address		address;

	return address_parse(text, &address);
}

static const Option log_options[] = {
	{
		"format", OPTION_CHOICE, .fallback = "text",
		.choices = format_choices, .offset = offsetof(LogConfig, format),
		.help = "form of the lines on stderr"
	},
	{
		"level", OPTION_CHOICE, .fallback = "info",
		.choices = level_choices, .offset = offsetof(LogConfig, level),
		.help = "least important lines that are written"
	},
};

static const Option retry_options[] = {
	{
		"delay", OPTION_DURATION, .fallback = "5s",
		.min = 0, .max = DAYS(30), .offset = offsetof(RetryConfig, delay_us),
		.help = "before the first retry"
	},
	{
		"multiplier", OPTION_NUMBER, .fallback = "2",
		.min = 1, .max = 100, .offset = offsetof(RetryConfig, multiplier),
		.help = "how much longer each delay is than the one before"
	},
	{
		"max_delay", OPTION_DURATION, .fallback = "2h",
		.min = 0, .max = DAYS(30),
		.offset = offsetof(RetryConfig, max_delay_us),
		.help = "no delay is longer"
	},
	{
		"max_tries", OPTION_INTEGER, .fallback = "20",
		.min = 1, .max = 1000000, .offset = offsetof(RetryConfig, max_tries),
		.help = "tries in all, the first one included"
	},
	{
		"jitter", OPTION_NUMBER, .fallback = "0.1",
		.min = 0, .max = 1, .offset = offsetof(RetryConfig, jitter),
		.help = "part of a delay that is left to chance"
	},
};

const Section log_section = {
	log_options, lengthof(log_options), sizeof(LogConfig)
};

static const Section retry_section = {
	retry_options, lengthof(retry_options), sizeof(RetryConfig)
};

static const Option handler_options[] = {
	{
		"types", OPTION_WORDS, .needs_restart = true, .is_required = true,
		.min = 1, .max = 1000, .check = check_pattern,
		.offset = offsetof(HandlerConfig, types),
		.count_offset = offsetof(HandlerConfig, ntypes),
		.help = "task types, exact or a beginning followed by *"
	},
	{
		"command", OPTION_ARGV, .needs_restart = true, .modes = COMMAND_MODE,
		.min = 1, .max = 1000, .offset = offsetof(HandlerConfig, argv),
		.help = "program and arguments, one process for each task"
	},
	{
		"worker", OPTION_ARGV, .needs_restart = true, .modes = WORKER_MODE,
		.min = 1, .max = 1000, .offset = offsetof(HandlerConfig, argv),
		.help = "program and arguments, processes that stay and speak JSON lines"
	},
	{
		"settings", OPTION_SETTINGS, .modes = WORKER_MODE,
		.offset = offsetof(HandlerConfig, settings),
		.help = "any keys and values, told to each process of the worker in its first line"
	},
	{
		"sql", OPTION_TEXT, .needs_restart = true, .modes = SQL_MODE,
		.min = 1, .max = 2 * IDENTIFIER_MAX + 1, .check = check_function,
		.offset = offsetof(HandlerConfig, function),
		.help = "schema.function, called in one transaction with grab and finish"
	},
	{
		"http", OPTION_TEXT, .modes = HTTP_MODE,
		.min = 1, .max = 8192,
		.offset = offsetof(HandlerConfig, url),
		.help = "URL that tasks are posted to"
	},
	{
		"noop", OPTION_SWITCH, .needs_restart = true, .modes = NOOP_MODE,
		.help = "done at once, for tests and measurements"
	},
	{
		"role", OPTION_TEXT, .needs_restart = true, .modes = SQL_MODE,
		.fallback_note = "the role of the connection",
		.min = 1, .max = IDENTIFIER_MAX, .check = check_role,
		.offset = offsetof(HandlerConfig, role),
		.help = "database role that the function runs as"
	},
	{
		"hosts", OPTION_WORDS, .modes = HTTP_MODE,
		.min = 1, .max = 1000,
		.offset = offsetof(HandlerConfig, hosts),
		.count_offset = offsetof(HandlerConfig, nhosts),
		.help = "hosts that a task may choose by http_url in its context"
	},
	{
		"networks", OPTION_CHOICE, .modes = HTTP_MODE,
		.fallback = "public", .choices = networks_choices,
		.offset = offsetof(HandlerConfig, networks),
		.help = "addresses that a host of a task's choice may have"
	},
	{
		"secret_file", OPTION_TEXT, .modes = HTTP_MODE,
		.min = 1, .max = 4095, .check = check_directory,
		.offset = offsetof(HandlerConfig, secret_file),
		.help = "file with the secrets that sign requests, one per line"
	},
	{
		"headers_file", OPTION_TEXT, .modes = HTTP_MODE,
		.min = 1, .max = 4095, .check = check_directory,
		.offset = offsetof(HandlerConfig, headers_file),
		.help = "file with more headers for the handler's own host, one per line"
	},
	{
		"ca_file", OPTION_TEXT, .modes = HTTP_MODE,
		.fallback_note = "those of the system",
		.min = 1, .max = 4095, .check = check_directory,
		.offset = offsetof(HandlerConfig, ca_file),
		.help = "file with the certificate authorities that are trusted"
	},
	{
		"connect_timeout", OPTION_DURATION, .modes = HTTP_MODE,
		.fallback = "10s", .min = MILLISECONDS(10), .max = HOURS(1),
		.offset = offsetof(HandlerConfig, connect_timeout_us),
		.help = "for a connection to be made"
	},
	{
		"statuses", OPTION_WORDS, .needs_restart = true,
		.modes = COMMAND_MODE | HTTP_MODE | NOOP_MODE,
		.min = 1, .max = 1000, .check = statuses_check,
		.offset = offsetof(HandlerConfig, statuses),
		.count_offset = offsetof(HandlerConfig, nstatuses),
		.help = "what a status means: STATUS=RESULT, such as 80=repeat or 4xx=error"
	},
	{
		"directory", OPTION_TEXT, .needs_restart = true, .modes = COMMAND_MODE | WORKER_MODE,
		.fallback = "/", .min = 1, .max = 4095, .check = check_directory,
		.offset = offsetof(HandlerConfig, directory),
		.help = "where the processes start"
	},
	{
		"processes", OPTION_INTEGER, .needs_restart = true, .modes = WORKER_MODE | SQL_MODE,
		.fallback = "1", .min = 1, .max = 1000,
		.offset = offsetof(HandlerConfig, processes),
		.help = "worker processes, or connections of a function"
	},
	{
		"prefetch", OPTION_INTEGER, .needs_restart = true, .modes = WORKER_MODE | SQL_MODE,
		.fallback_note = "worker 1, sql 64", .min = 1, .max = 10000,
		.offset = offsetof(HandlerConfig, prefetch),
		.help = "tasks in flight per worker process, or in one statement"
	},
	{
		"concurrency", OPTION_INTEGER,
		.fallback_note = "command 10, worker processes * prefetch, sql 16, http 50, noop 1000",
		.min = 1, .max = 10000000,
		.offset = offsetof(HandlerConfig, concurrency),
		.help = "tasks of this handler that run at once on this node"
	},
	{
		"timeout", OPTION_DURATION, .fallback = "10min",
		.min = MILLISECONDS(10), .max = DAYS(30),
		.offset = offsetof(HandlerConfig, timeout_us),
		.help = "deadline of a task, counted from its grab, for a worker from when it takes it up"
	},
	{
		"grace", OPTION_DURATION, .needs_restart = true, .modes = COMMAND_MODE | WORKER_MODE | SQL_MODE,
		.fallback = "5s", .min = 0, .max = HOURS(1),
		.offset = offsetof(HandlerConfig, grace_us),
		.help = "between asking a process, or a function, to end and killing it"
	},
	{
		"stuck", OPTION_CHOICE, .fallback = "error", .choices = stuck_choices,
		.offset = offsetof(HandlerConfig, stuck),
		.help = "what becomes of a task whose node is gone or whose deadline passed; "
		"of no use with sql, whose tasks can always run again"
	},
	{
		"max_output", OPTION_SIZE, .needs_restart = true, .modes = COMMAND_MODE | WORKER_MODE | HTTP_MODE,
		.fallback = "64kB", .min = 0, .max = 16 * 1024 * 1024,
		.offset = offsetof(HandlerConfig, max_output),
		.help = "how much of the end of stderr, or of an answer, is kept with a task"
	},
	{
		"retry", OPTION_SECTION, .section = &retry_section,
		.offset = offsetof(HandlerConfig, retry),
		.help = "when a task that failed is tried again"
	},
};

static const Section handler_section = {
	handler_options, lengthof(handler_options), sizeof(HandlerConfig)
};

static const Option root_options[] = {
	{
		"postgres", OPTION_CONNINFO, .fallback = "", .needs_restart = true,
		.min = 0, .max = 8192, .offset = offsetof(Config, postgres),
		.help = "the database, as a libpq connection string or URI"
	},
	{
		"node", OPTION_TEXT, .fallback_note = "the host name",
		.needs_restart = true,
		.min = 1, .max = 128, .offset = offsetof(Config, node),
		.help = "name of this sidecar, its own in the whole cluster"
	},
	{
		"environment", OPTION_TEXT, .fallback_note = "none",
		.needs_restart = true, .check = check_environment,
		.min = 1, .max = IDENTIFIER_MAX, .offset = offsetof(Config, environment),
		.help = "takes tasks only of a database that was adopted for it"
	},
	{
		"buckets", OPTION_WORDS, .fallback = "default", .needs_restart = true,
		.min = 1, .max = TRIGGER_BUCKETS, .check = check_bucket,
		.offset = offsetof(Config, buckets),
		.count_offset = offsetof(Config, nbuckets),
		.help = "buckets that this node works for"
	},
	{
		"queue", OPTION_CHOICE, .fallback = "auto", .needs_restart = true,
		.choices = queue_choices, .offset = offsetof(Config, queue),
		.help = "how triggers arrive; auto is ring when the extension is preloaded, else notify"
	},
	{
		"log", OPTION_SECTION, .section = &log_section,
		.offset = offsetof(Config, log),
		.help = "what is written to stderr"
	},
	{
		"concurrency", OPTION_INTEGER, .fallback = "0",
		.min = 0, .max = 10000000, .offset = offsetof(Config, concurrency),
		.help = "tasks that run at once on this node, all handlers together; 0 is no limit"
	},
	{
		"look_ahead", OPTION_INTEGER, .fallback = "100000",
		.needs_restart = true,
		.min = 1, .max = 10000000, .offset = offsetof(Config, look_ahead),
		.help = "triggers kept in memory; more stay in the database"
	},
	{
		"drain", OPTION_DURATION, .fallback = "30s",
		.min = 0, .max = DAYS(1), .offset = offsetof(Config, drain_us),
		.help = "how long SIGTERM waits for running handlers"
	},
	{
		"lease", OPTION_DURATION, .fallback = "30s", .needs_restart = true,
		.min = MILLISECONDS(100), .max = HOURS(1),
		.offset = offsetof(Config, lease_us),
		.help = "silence after which this node counts as gone"
	},
	{
		"sweep", OPTION_DURATION, .fallback = "5s",
		.min = MILLISECONDS(10), .max = HOURS(1),
		.offset = offsetof(Config, sweep_us),
		.help = "time between two looks at the whole table"
	},
	{
		"listen", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 100, .check = check_listen,
		.offset = offsetof(Config, listen),
		.help = "address and port where HTTP tells how this node is, at /health"
	},
	{
		"handlers", OPTION_SECTIONS, .section = &handler_section,
		.is_required = true, .min = 1, .max = 1000,
		.offset = offsetof(Config, handlers),
		.count_offset = offsetof(Config, nhandlers),
		.help = "who runs which tasks: one of command, worker, sql, http and noop each"
	},
};

static const Section root_section = {
	root_options, lengthof(root_options), sizeof(Config)
};

StaticAssertDecl(lengthof(handler_options) <= SECTION_OPTIONS_MAX,
				 "a section has too many options");

const Section *
options_root(void)
{
	return &root_section;
}

const char *
options_choice_name(const Choice *choices, int value)
{
	while (choices->value != value)
		choices++;
	return choices->name;
}

const char *
config_stuck_name(StuckRule rule)
{
	return options_choice_name(stuck_choices, rule);
}

const Section *
options_handler(void)
{
	return &handler_section;
}
