/*-------------------------------------------------------------------------
 *
 * trigger_settings.c
 *		How triggers pass through Kafka, as the sidecar's hello says it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/kafka_conf.h"
#include "options/log_options.h"
#include "workers/kafka/trigger_settings.h"

/*
 * A trigger that no broker takes soon starts at its own node.  Each trigger goes to a
 * partition of its own, since a partition has one reader.  A topic that appears is
 * found soon.
 */
static const KafkaDefault defaults[] = {
	{"linger.ms", "1"},
	{"message.timeout.ms", "2000"},
	{"sticky.partitioning.linger.ms", "0"},
	{"topic.metadata.refresh.interval.ms", "10000"},
	{NULL, NULL}
};

char *
trigger_settings_topic(const TriggerSettings *settings, const char *prefix, int bucket)
{
	return psprintf("%s%s.executeTask.%s", prefix, settings->name, settings->buckets[bucket]);
}

/* ---- the clients ---- */

static rd_kafka_conf_t *
make_conf(const json_t *kafka, WorkerFault *fault)
{
	KafkaFault	found = {NULL, NULL};
	rd_kafka_conf_t *conf = kafka_conf_new(kafka, defaults, &found);

	if (conf == NULL)
	{
		char	   *setting = psprintf("kafka.%s", found.setting);

		(void) worker_fail(fault, setting, found.reason);
		pfree(setting);
		pfree(found.setting);
	}
	return conf;
}

/*
 * A trigger is a hint, so the word of one broker is enough.
 *
 * One partition can be moved to its end only where assignments are cooperative.
 * An offset is stored when its event is handed out, and committed soon after.
 * Where no offset is stored, or its message is gone, an event says so, and
 * another one when the end of a partition is reached.
 */
static bool
make_clients(TriggerSettings *to, const json_t *kafka, WorkerFault *fault)
{
	to->producer = make_conf(kafka, fault);
	if (to->producer == NULL)
		return false;
	to->consumer = rd_kafka_conf_dup(to->producer);
	kafka_conf_set(to->producer, "acks", "1");
	kafka_conf_set(to->consumer, "group.id", to->name);
	kafka_conf_set(to->consumer, "auto.offset.reset", "error");
	kafka_conf_set(to->consumer, "partition.assignment.strategy", "cooperative-sticky");
	kafka_conf_set(to->consumer, "enable.partition.eof", "true");
	kafka_conf_set(to->consumer, "enable.auto.commit", "true");
	kafka_conf_set(to->consumer, "enable.auto.offset.store", "true");
	return true;
}

/* ---- the whole ---- */

static void
read_log(TriggerSettings *to, const json_t *settings)
{
	const Option *format = &log_section.options[0];
	const Option *level = &log_section.options[1];

	to->log = options_choice_value(format, json_string_value(json_object_get(settings, "format")));
	to->level = options_choice_value(level, json_string_value(json_object_get(settings, "level")));
}

static bool
read_settings(TriggerSettings *to, const char *node, const json_t *settings, WorkerFault *fault)
{
	const char *group = json_string_value(json_object_get(settings, "group"));
	const char *space = json_string_value(json_object_get(settings, "namespace"));
	bool		has_space = space != NULL && space[0] != '\0';

	to->node = pstrdup(node != NULL ? node : "");
	to->buckets = kafka_texts_new(json_object_get(settings, "buckets"));
	to->nbuckets = (int) json_array_size(json_object_get(settings, "buckets"));
	to->prefixes = kafka_texts_new(json_object_get(settings, "prefixes"));
	to->name = psprintf("%s%stwTasks.%s", has_space ? space : "", has_space ? "." : "",
						group != NULL ? group : "");
	read_log(to, settings);
	if (group == NULL)
		return worker_fail(fault, "kafka.group", pstrdup("the key is missing"));
	return make_clients(to, settings, fault);
}

TriggerSettings *
trigger_settings_new(const char *hello, WorkerFault *fault)
{
	TriggerSettings *to = palloc0(sizeof(TriggerSettings));
	json_t	   *object = json_loads(hello, 0, NULL);
	bool		is_fine = json_is_object(object) ?
		read_settings(to, json_string_value(json_object_get(object, "node")),
					  json_object_get(object, "settings"), fault) :
		worker_fail(fault, NULL, pstrdup("the settings are not a JSON object"));

	json_decref(object);
	if (is_fine)
		return to;
	trigger_settings_free(to);
	return NULL;
}

void
trigger_settings_free(TriggerSettings *settings)
{
	if (settings->producer != NULL)
		rd_kafka_conf_destroy(settings->producer);
	if (settings->consumer != NULL)
		rd_kafka_conf_destroy(settings->consumer);
	kafka_texts_free(settings->buckets);
	kafka_texts_free(settings->prefixes);
	pfree(settings->name);
	pfree(settings->node);
	pfree(settings);
}
