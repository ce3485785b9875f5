/*-------------------------------------------------------------------------
 *
 * forward_conf.c
 *		The Kafka clients of triggers: their topics and settings.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config/hello.h"
#include "kafka/kafka_conf.h"
#include "queue/forward_conf.h"

/*
 * Defaults that a setting of the file may replace.  A trigger that no broker
 * takes soon starts here.  Each trigger goes to a partition of its own, since
 * a partition has one reader.  A topic that appears is found soon.
 */
static const char *const defaults[][2] = {
	{"linger.ms", "1"},
	{"message.timeout.ms", "2000"},
	{"sticky.partitioning.linger.ms", "0"},
	{"topic.metadata.refresh.interval.ms", "10000"},
};

/* Namespace and group, as topics and the group of consumers begin. */
static char *
name_of(const KafkaOptions *options, const char *prefix)
{
	const char *namespace = options->namespace != NULL ? options->namespace : "";

	return psprintf("%s%s%stwTasks.%s", prefix, namespace, namespace[0] != '\0' ? "." : "",
					options->group);
}

char *
forward_topic(const KafkaOptions *options, const char *prefix, const char *bucket)
{
	char	   *name = name_of(options, prefix);
	char	   *topic = psprintf("%s.executeTask.%s", name, bucket);

	pfree(name);
	return topic;
}

static rd_kafka_conf_t *
make_conf(const KafkaOptions *options, char **reason)
{
	char	   *text = hello_settings(NULL, &kafka_section, options);
	json_t	   *object = json_loads(text, 0, NULL);
	json_t	   *settings = json_object();
	KafkaFault	fault = {NULL, NULL};
	rd_kafka_conf_t *conf;

	for (size_t i = 0; i < lengthof(defaults); i++)
		json_object_set_new(settings, defaults[i][0], json_string(defaults[i][1]));
	json_object_update(settings, json_object_get(object, "settings"));
	json_object_set_new(object, "settings", settings);
	conf = kafka_conf_new(object, &fault);
	if (conf == NULL)
		*reason = psprintf("kafka.%s: %s", fault.setting, fault.reason);
	pfree(fault.setting);
	pfree(fault.reason);
	json_decref(object);
	pfree(text);
	return conf;
}

/* A trigger is a hint, so the word of one broker is enough. */
rd_kafka_conf_t *
forward_producer_conf(const KafkaOptions *options, char **reason)
{
	rd_kafka_conf_t *conf = make_conf(options, reason);

	if (conf != NULL)
		kafka_conf_set(conf, "acks", "1");
	return conf;
}

/*
 * One partition can be moved to its end only where assignments are cooperative.
 * An offset is stored when its event is handed out, and committed soon after.
 * Where no offset is stored, or its message is gone, an event says so.
 */
rd_kafka_conf_t *
forward_consumer_conf(const KafkaOptions *options, char **reason)
{
	rd_kafka_conf_t *conf = make_conf(options, reason);
	char	   *group;

	if (conf == NULL)
		return NULL;
	group = name_of(options, "");
	kafka_conf_set(conf, "group.id", group);
	kafka_conf_set(conf, "auto.offset.reset", "error");
	kafka_conf_set(conf, "partition.assignment.strategy", "cooperative-sticky");
	kafka_conf_set(conf, "enable.auto.commit", "true");
	kafka_conf_set(conf, "enable.auto.offset.store", "true");
	pfree(group);
	return conf;
}
