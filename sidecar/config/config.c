#include "base/port.h"

#include <unistd.h>

#include "base/address.h"
#include "base/map.h"
#include "common/pattern.h"
#include "common/trigger.h"
#include "process/bundled.h"
#include "config/config.h"
#include "options/hello.h"
#include "options/judged.h"

#define MILLISECONDS(n) MS_TO_US(n)
#define SECONDS(n) SECONDS_TO_US(n)
#define HOURS(n) SECONDS((n) * 3600)
#define DAYS(n) HOURS((n) * 24)

static const Choice queue_choices[] = {
	{"auto", QUEUE_AUTO},
	{"ring", QUEUE_RING},
	{"notify", QUEUE_NOTIFY},
	{"kafka", QUEUE_KAFKA},
	{NULL, 0}
};

static const Choice leader_choices[] = {
	{"postgres", LEADER_POSTGRES},
	{"zookeeper", LEADER_ZOOKEEPER},
	{NULL, 0}
};

static const Choice stuck_choices[] = {
	{"retry", STUCK_RETRY},
	{"error", STUCK_ERROR},
	{"fail", STUCK_FAIL},
	{"ignore", STUCK_IGNORE},
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

static const Option retry_options[] = {
	{
		"delay", OPTION_DURATION, .fallback = "5s",
		.min = 0, .max = DAYS(30), .offset = offsetof(RetryConfig, delay_us),
		.help = "before the first retry"
	},
	{
		"multiplier", OPTION_NUMBER, .fallback = "2",
		.min = 1, .max = 100, .offset = offsetof(RetryConfig, multiplier),
		.help = "factor between one delay and the next"
	},
	{
		"max_delay", OPTION_DURATION, .fallback = "2h",
		.min = 0, .max = DAYS(30),
		.offset = offsetof(RetryConfig, max_delay_us),
		.help = "longest delay"
	},
	{
		"max_tries", OPTION_INTEGER, .fallback = "20",
		.min = 1, .max = 1000000, .offset = offsetof(RetryConfig, max_tries),
		.help = "attempts in all, including the first"
	},
	{
		"jitter", OPTION_NUMBER, .fallback = "0.1",
		.min = 0, .max = 1, .offset = offsetof(RetryConfig, jitter),
		.help = "random part of a delay"
	},
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
		.help = "task types: exact names, or prefixes followed by *"
	},
	{
		.type = OPTION_KIND, .offset = offsetof(HandlerConfig, kind),
		.help = "a handler"
	},
	{
		"memory", OPTION_SIZE, .fallback = "64MB",
		.min = 1, .max = INT64CONST(1) << 40,
		.offset = offsetof(HandlerConfig, memory),
		.help = "bytes of its tasks in the sidecar's memory above which it gets no more; "
		"without effect for sql, whose tasks stay in the database"
	},
	{
		"timeout", OPTION_DURATION, .fallback = "10min",
		.min = MILLISECONDS(10), .max = DAYS(30),
		.offset = offsetof(HandlerConfig, timeout_us),
		.help = "deadline of a task, counted from its grab, or from when a worker takes it up"
	},
	{
		"stuck", OPTION_CHOICE, .fallback = "error", .choices = stuck_choices,
		.offset = offsetof(HandlerConfig, stuck),
		.help = "what happens to a task whose node is gone or whose deadline passed unseen; "
		"without effect for sql, whose tasks can always run again"
	},
	{
		"retry", OPTION_SECTION, .section = &retry_section,
		.offset = offsetof(HandlerConfig, retry),
		.help = "retries of a failed task"
	},
};

static bool
settle_handler(void *target, const Place *place)
{
	const HandlerConfig *handler = target;

	if (handler->retry.delay_us <= handler->retry.max_delay_us)
		return true;
	return options_fail(place, "retry", "delay must not be longer than max_delay");
}

/* Adds the patterns of a handler to the map; each must be new. */
static bool
take_patterns(Map *map, HandlerConfig *handler, const Place *place)
{
	for (int i = 0; i < handler->ntypes; i++)
	{
		const char *pattern = handler->types[i];
		const HandlerConfig *other = map_get(map, pattern);

		if (other != NULL)
		{
			char	   *entry = psprintf("handlers[%d].types[%d]", handler->index, i);

			(void) options_fail(place, entry, "handlers[%d] has \"%s\" already", other->index, pattern);
			pfree(entry);
			return false;
		}
		map_set(map, pattern, handler);
	}
	return true;
}

/* Two handlers for one pattern would leave the choice to chance. */
static bool
check_patterns(const Config *config, const Place *place)
{
	Map		   *map = map_new(0);
	bool		is_fine = true;

	for (int i = 0; i < config->nhandlers && is_fine; i++)
		is_fine = take_patterns(map, config->handlers[i], place);
	map_free(map);
	return is_fine;
}

static bool
settle_node(Config *config, const Place *place)
{
	char		name[256];

	if (config->node != NULL)
		return true;
	if (gethostname(name, sizeof(name)) != 0 || name[0] == '\0')
		return options_fail(place, "node", "there is no host name to take for it");
	name[sizeof(name) - 1] = '\0';
	config->node = pstrdup(name);
	return true;
}

/* The options of a handler replace the settings that it is given here. */
static void
make_hellos(Config *config)
{
	json_t	   *kafka = hello_settings(&kafka_section, &config->kafka);

	for (int i = 0; i < config->nhandlers; i++)
	{
		HandlerConfig *handler = config->handlers[i];

		if (handler->told != NULL)
			handler->hello = hello_make(config->node,
										handler->inherits_kafka ? json_copy(kafka) : json_loads(handler->settings, 0, NULL),
										handler->told, handler);
		if (handler->told != NULL && handler->batch > 0)
			hello_add(&handler->hello, "batch", handler->batch);
	}
	json_decref(kafka);
}

/*
 * Bundled programs judge the settings of their handlers.  The section "kafka"
 * is judged before the handlers that inherit from it, as one for all topics.
 */
static bool
check_settings(const Config *config, const Place *place)
{
	char	   *kafka = bundled_path("kafka");
	char	   *hello = hello_make(config->node, json_pack("{ss}", "kafka", "*"), &kafka_section, &config->kafka);
	Judged	   *list = palloc0((config->nhandlers + 1) * sizeof(Judged));
	Judged		section = {kafka, hello, pstrdup("kafka"), "brokers"};
	int			n = 0;
	bool		is_fine;

	list[n++] = section;
	for (int i = 0; i < config->nhandlers; i++)
	{
		const HandlerConfig *handler = config->handlers[i];

		if (handler->told == NULL || handler->told->noptions == 0)
			continue;
		list[n].program = handler->argv[0];
		list[n].hello = handler->hello;
		list[n].owner = psprintf("handlers[%d]", i);
		list[n++].option = handler->told->options[0].name;
	}
	is_fine = options_given(place, "kafka") ? judged_all(list, n, place) :
		judged_all(list + 1, n - 1, place);
	while (n-- > 0)
		pfree(unconstify(char *, list[n].owner));
	pfree(list);
	pfree(hello);
	pfree(kafka);
	return is_fine;
}

static bool
settle_listeners(Config *config, const Place *place)
{
	ListenersOrigin origin = {
		.node = config->node,
		.postgres = config->listeners_postgres != NULL ? config->listeners_postgres : config->postgres,
		.log = &config->log,
		.kafka = &config->kafka
	};

	if (config->nlisteners == 0)
		return true;
	if (!listeners_complete(config->listeners, &config->kafka, place))
		return false;
	config->listeners_line = listeners_line(&origin, config->listeners, place);
	return config->listeners_line != NULL;
}

static bool
settle_election(Config *config, const Place *place)
{
	if (config->leader == LEADER_ZOOKEEPER)
		config->election_line = zookeeper_line(&config->zookeeper, config->node, &config->log, place);
	return config->leader != LEADER_ZOOKEEPER || config->election_line != NULL;
}

static bool
settle_notify(Config *config, const Place *place)
{
	if (!notify_is_wanted(&config->notify))
		return true;
	config->notify.line = notify_line(&config->notify, config->node, config->environment, &config->log, place);
	return config->notify.line != NULL;
}

static bool
settle_traces(Config *config, const Place *place)
{
	if (config->traces.url != NULL)
		config->traces.line = traces_line(&config->traces, config->node, config->environment, &config->log, place);
	return config->traces.url == NULL || config->traces.line != NULL;
}

static bool
settle(void *target, const Place *place)
{
	Config	   *config = target;

	for (int i = 0; i < config->nhandlers; i++)
		config->handlers[i]->index = i;
	if (!check_patterns(config, place) || !settle_node(config, place))
		return false;
	if (config->queue == QUEUE_KAFKA && !kafka_options_complete(&config->kafka, place))
		return false;
	make_hellos(config);
	return check_settings(config, place) && settle_listeners(config, place) &&
		settle_election(config, place) && settle_notify(config, place) && settle_traces(config, place);
}

static void
release_config(void *target)
{
	pfree(((Config *) target)->listeners_line);
	pfree(((Config *) target)->election_line);
	pfree(((Config *) target)->notify.line);
	pfree(((Config *) target)->traces.line);
}

static void
release_handler(void *target)
{
	pfree(((HandlerConfig *) target)->hello);
}

static const Section handler_section = {
	handler_options, lengthof(handler_options), sizeof(HandlerConfig),
	settle_handler, release_handler
};

static const Option root_options[] = {
	{
		"postgres", OPTION_CONNINFO, .fallback = "", .needs_restart = true,
		.min = 0, .max = 8192, .offset = offsetof(Config, postgres),
		.help = "the database, as a libpq connection string or URI"
	},
	{
		"node", OPTION_TEXT,
		.needs_restart = true,
		.min = 1, .max = 128, .offset = offsetof(Config, node),
		.help = "name of this sidecar, unique in the cluster; default: the host name"
	},
	{
		"environment", OPTION_TEXT,
		.needs_restart = true, .check = check_environment,
		.min = 1, .max = 63, .offset = offsetof(Config, environment),
		.help = "the sidecar runs tasks only in a database adopted for this environment"
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
		.help = "how triggers arrive; auto is ring when the extension is preloaded, else notify; "
		"kafka is ring, and Kafka for tasks that cannot start here at once"
	},
	{
		"door_directory", OPTION_TEXT, .needs_restart = true, .check = options_check_path,
		.min = 1, .max = 1000, .offset = offsetof(Config, door_directory),
		.help = "the server's twtasks.door_directory, through which a lone task starts sooner"
	},
	{
		"log", OPTION_SECTION, .section = &log_section,
		.offset = offsetof(Config, log),
		.help = "lines written to stderr"
	},
	{
		"concurrency", OPTION_INTEGER, .fallback = "0",
		.min = 0, .max = 10000000, .offset = offsetof(Config, concurrency),
		.help = "tasks that run at once on this node, all handlers together; 0 means no limit"
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
		.help = "time that SIGTERM gives running handlers to end"
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
		.help = "time between two reads of the whole table"
	},
	{
		"leader", OPTION_CHOICE, .fallback = "postgres", .needs_restart = true,
		.choices = leader_choices, .offset = offsetof(Config, leader),
		.help = "who chooses the leader, the node that does what one does for all"
	},
	{
		"zookeeper", OPTION_SECTION, .section = &zookeeper_section,
		.offset = offsetof(Config, zookeeper),
		.help = "how to reach ZooKeeper, for leader: zookeeper"
	},
	{
		"kafka", OPTION_SECTION, .section = &kafka_section,
		.offset = offsetof(Config, kafka),
		.help = "how to reach Kafka, for queue: kafka and for handlers without brokers"
	},
	{
		"listen", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 100, .check = address_check,
		.offset = offsetof(Config, listen),
		.help = "address and port that serve GET /health, the health of this node, and GET /metrics"
	},
	{
		"metrics", OPTION_SECTION, .section = &metrics_section,
		.offset = offsetof(Config, metrics),
		.help = "bounds of the figures in /metrics and in twtasks.flow"
	},
	{
		"traces", OPTION_SECTION, .section = &traces_section, .offset = offsetof(Config, traces),
		.help = "spans of tries, for OpenTelemetry"
	},
	{
		"listeners", OPTION_SECTIONS, .section = &listener_section,
		.min = 1, .max = 1000, .offset = offsetof(Config, listeners),
		.count_offset = offsetof(Config, nlisteners),
		.help = "topics whose messages become tasks, each with one of type and function"
	},
	{
		"listeners_postgres", OPTION_CONNINFO, .min = 1, .max = 8192,
		.offset = offsetof(Config, listeners_postgres),
		.help = "the database, for listeners, with a role of twtasks_producer; default: option postgres"
	},
	{
		"notify", OPTION_SECTION, .section = &notify_section, .offset = offsetof(Config, notify),
		.help = "people and programs that hear of incidents"
	},
	{
		"handlers", OPTION_SECTIONS, .section = &handler_section,
		.is_required = true, .needs_restart = true, .min = 1, .max = 1000,
		.offset = offsetof(Config, handlers),
		.count_offset = offsetof(Config, nhandlers),
		.help = "the handlers, each with one of command, worker, sql, http, kafka and noop"
	},
};

const Section config_section = {
	root_options, lengthof(root_options), sizeof(Config), settle, release_config
};

const char *
config_stuck_name(StuckRule rule)
{
	return options_choice_name(stuck_choices, rule);
}

const HandlerConfig *
config_handler(const Config *config, const char *type)
{
	const HandlerConfig *best = NULL;
	size_t		best_fit = 0;
	int			i;
	int			j;

	for (i = 0; i < config->nhandlers; i++)
	{
		const HandlerConfig *handler = config->handlers[i];

		for (j = 0; j < handler->ntypes; j++)
		{
			size_t		this_fit = pattern_fit(handler->types[j], type);

			if (this_fit > best_fit)
			{
				best = handler;
				best_fit = this_fit;
			}
		}
	}
	return best;
}

int
config_bucket(const Config *config, const char *name, size_t len)
{
	int			i = config->nbuckets - 1;

	while (i >= 0 && (strlen(config->buckets[i]) != len ||
					  memcmp(config->buckets[i], name, len) != 0))
		i--;
	return i;
}
