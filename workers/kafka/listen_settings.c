/*-------------------------------------------------------------------------
 *
 * listen_settings.c
 *		What the listeners read, and how, as the sidecar says it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/log_options.h"
#include "workers/kafka/kafka_conf.h"
#include "workers/kafka/listen_settings.h"

#define NAME_MAX_LEN 200

/* ---- values ---- */

/* Takes the palloc'd setting. */
static bool
fail(WorkerFault *fault, char *setting, const char *why)
{
	bool		result = worker_fail(fault, setting, pstrdup(why));

	pfree(setting);
	return result;
}

static char *
dup_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? NULL : pstrdup(text);
}

static char *
dup_text_or(const json_t *object, const char *name, const char *otherwise)
{
	char	   *text = dup_text(object, name);

	return text == NULL ? pstrdup(otherwise) : text;
}

/* ---- one listener ---- */

/*
 * Adds a topic, unless it is there: librdkafka refuses a list with a topic twice, and
 * all listeners would stand still.
 */
static bool
add_topic(ListenerSettings *to, char *topic)
{
	int			n = 0;

	for (; to->topics[n] != NULL; n++)
		if (strcmp(to->topics[n], topic) == 0)
		{
			pfree(topic);
			return true;
		}
	to->topics[n] = topic;
	return kafka_topic_check(topic) == NULL;
}

/* Reads [NAMESPACE.]TOPIC, with each of the prefixes. */
static bool
read_topics(ListenerSettings *to, const json_t *kafka, const json_t *object)
{
	const json_t *topics = json_object_get(object, "topics");
	const json_t *prefixes = json_object_get(kafka, "prefixes");
	const char *space = json_string_value(json_object_get(kafka, "namespace"));
	bool		has_space = space != NULL && space[0] != '\0';
	size_t		nprefixes = json_array_size(prefixes);
	bool		is_fine = json_array_size(topics) > 0;

	to->topics = palloc0((json_array_size(topics) * (nprefixes + 1) + 1) * sizeof(char *));
	for (size_t i = 0; i < json_array_size(topics); i++)
		for (size_t j = 0; j <= nprefixes; j++)
		{
			const char *topic = json_string_value(json_array_get(topics, i));
			const char *prefix = j == 0 ? "" : json_string_value(json_array_get(prefixes, j - 1));
			char	   *whole = psprintf("%s%s%s%s", prefix == NULL ? "" : prefix,
										 has_space ? space : "", has_space ? "." : "",
										 topic == NULL ? "" : topic);

			is_fine = add_topic(to, whole) && is_fine && topic != NULL && topic[0] != '\0';
		}
	return is_fine;
}

static void
read_start(ListenerSettings *to, const json_t *start)
{
	const char *text = json_string_value(start);

	to->age_ms = (int64) (json_number_value(start) * 1000);
	to->start = text != NULL && strcmp(text, "earliest") == 0 ? PARTITION_EARLIEST :
		json_is_number(start) ? PARTITION_YOUNG : PARTITION_LATEST;
}

/* The sidecar has checked what the database gets. */
static bool
read_listener(ListenerSettings *to, const json_t *kafka, const json_t *object)
{
	to->name = dup_text(object, "name");
	to->type = dup_text(object, "type");
	to->function = dup_text(object, "function");
	to->value = dup_text_or(object, "value", "json");
	to->key = dup_text(object, "key");
	if (json_is_array(json_object_get(object, "headers")))
		to->headers = kafka_texts_new(json_object_get(object, "headers"));
	to->corrupt = dup_text_or(object, "corrupt", "retry");
	read_start(to, json_object_get(object, "start"));
	return read_topics(to, kafka, object);
}

/* ---- the consumer ---- */

/*
 * Messages fetched ahead are thrown away when a partition pauses, so they are few.  A
 * topic that is missing or that gets partitions is seen when the client refreshes
 * its metadata.
 */
static const KafkaDefault defaults[] = {
	{"queued.max.messages.kbytes", "8192"},
	{"fetch.message.max.bytes", "2097152"},
	{"isolation.level", "read_committed"},
	{"topic.metadata.refresh.interval.ms", "30000"},
	{NULL, NULL}
};

/*
 * Offsets are committed for tools that show the lag.  A fetch beyond the log must
 * fail, not skip messages.  A member that fetches while the group changes would
 * need another kind of assignment.
 */
static rd_kafka_conf_t *
make_conf(const json_t *kafka, const char *name, KafkaFault *fault)
{
	const char *group = json_string_value(json_object_get(kafka, "group"));
	const char *space = json_string_value(json_object_get(kafka, "namespace"));
	bool		has_space = space != NULL && space[0] != '\0';
	rd_kafka_conf_t *conf = kafka_conf_new(kafka, defaults, fault);
	char	   *member = psprintf("%s%s%s.%s", has_space ? space : "", has_space ? "." : "",
								  group == NULL ? "" : group, name);

	if (conf != NULL)
	{
		kafka_conf_set(conf, "group.id", member);
		kafka_conf_set(conf, "enable.auto.commit", "true");
		kafka_conf_set(conf, "enable.auto.offset.store", "false");
		kafka_conf_set(conf, "auto.offset.reset", "error");
		kafka_conf_set(conf, "enable.partition.eof", "true");
		kafka_conf_set(conf, "partition.assignment.strategy", "range,roundrobin");
	}
	pfree(member);
	return conf;
}

/* These settings decide whether messages are skipped, so the file cannot set them. */
static bool
check_kafka(const json_t *kafka, WorkerFault *fault)
{
	static const char *const ours[] = {
		"auto.offset.reset", "enable.partition.eof", "partition.assignment.strategy"
	};
	const char *group = json_string_value(json_object_get(kafka, "group"));

	if (group == NULL || kafka_topic_check(group) != NULL)
		return fail(fault, pstrdup("kafka.group"), "a group has letters, digits and . _ -");
	for (size_t i = 0; i < lengthof(ours); i++)
		if (json_object_get(json_object_get(kafka, "settings"), ours[i]) != NULL)
			return fail(fault, psprintf("kafka.settings[\"%s\"]", ours[i]),
						"delivery rests on it, so twtasks sets it");
	return true;
}

/* ---- the whole ---- */

static bool
read_one(ListenSettings *to, int i, const json_t *kafka, const json_t *object, WorkerFault *fault)
{
	ListenerSettings *listener = &to->listeners[i];
	KafkaFault	found = {NULL, NULL};
	bool		has_topics = read_listener(listener, kafka, object);

	if (listener->name == NULL || strlen(listener->name) > NAME_MAX_LEN ||
		kafka_topic_check(listener->name) != NULL)
		return fail(fault, psprintf("listeners[%d].name", i),
					"a listener's name has letters, digits and . _ -, at most 200 of them");
	if (!has_topics)
		return fail(fault, psprintf("listeners[%d].topics", i),
					"a topic has letters, digits and . _ -, at most 249 of them with its namespace and prefix");
	listener->conf = make_conf(kafka, listener->name, &found);
	if (listener->conf != NULL)
		return true;
	(void) fail(fault, psprintf("kafka.%s", found.setting), found.reason);
	pfree(found.setting);
	pfree(found.reason);
	return false;
}

static bool
read_listeners(ListenSettings *to, const json_t *object, WorkerFault *fault)
{
	const json_t *kafka = json_object_get(object, "kafka");
	const json_t *list = json_object_get(object, "listeners");
	int			n = (int) json_array_size(list);

	to->listeners = palloc0(n * sizeof(ListenerSettings));
	for (to->nlisteners = 0; to->nlisteners < n;)
	{
		int			i = to->nlisteners++;

		if (!read_one(to, i, kafka, json_array_get(list, i), fault))
			return false;
	}
	return check_kafka(kafka, fault);
}

static bool
read_whole(ListenSettings *to, const json_t *object, WorkerFault *fault)
{
	to->node = dup_text_or(object, "node", "");
	to->postgres = dup_text_or(object, "postgres", "");
	to->log = options_choice_value(&log_section.options[0], json_string_value(json_object_get(object, "log")));
	to->level = options_choice_value(&log_section.options[1], json_string_value(json_object_get(object, "level")));
	return read_listeners(to, object, fault);
}

ListenSettings *
listen_settings_new(const char *line, WorkerFault *fault)
{
	ListenSettings *settings = palloc0(sizeof(ListenSettings));
	json_t	   *object = json_loads(line, 0, NULL);
	bool		is_fine = json_is_object(object) ? read_whole(settings, object, fault) :
		worker_fail(fault, NULL, pstrdup("the settings are not a JSON object"));

	json_decref(object);
	if (is_fine)
		return settings;
	listen_settings_free(settings);
	return NULL;
}

static void
clear_listener(ListenerSettings *listener)
{
	if (listener->conf != NULL)
		rd_kafka_conf_destroy(listener->conf);
	kafka_texts_free(listener->topics);
	kafka_texts_free(listener->headers);
	pfree(listener->name);
	pfree(listener->type);
	pfree(listener->function);
	pfree(listener->value);
	pfree(listener->key);
	pfree(listener->corrupt);
}

void
listen_settings_free(ListenSettings *settings)
{
	if (settings == NULL)
		return;
	for (int i = 0; i < settings->nlisteners; i++)
		clear_listener(&settings->listeners[i]);
	pfree(settings->listeners);
	pfree(settings->node);
	pfree(settings->postgres);
	pfree(settings);
}
