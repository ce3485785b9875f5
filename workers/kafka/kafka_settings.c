/*-------------------------------------------------------------------------
 *
 * kafka_settings.c
 *		The settings of a Kafka handler, as its sidecar sends them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/pattern.h"
#include "workers/kafka/kafka_conf.h"
#include "workers/kafka/kafka_settings.h"

static bool
read_topic(KafkaSettings *settings, const json_t *object, WorkerFault *fault)
{
	const char *given = json_string_value(json_object_get(object, "kafka"));
	size_t		len;
	const char *error;

	if (given == NULL)
		return worker_fail(fault, "kafka", pstrdup("the key is missing"));
	settings->topic = pstrdup(given);
	len = strlen(given);
	settings->is_exact = len == 0 || given[len - 1] != '*';
	if (!settings->is_exact)
		settings->topic[len - 1] = '\0';
	error = settings->is_exact || len > 1 ? kafka_topic_check(settings->topic) : NULL;
	if (!settings->is_exact)
		settings->topic[len - 1] = '*';
	return error == NULL || worker_fail_value(fault, "kafka", given, error);
}

/*
 * The brokers limit the size of a message, so the client allows any task.  A client
 * that was refused a topic asks again when it refreshes its metadata.
 */
static const KafkaDefault defaults[] = {
	{"message.timeout.ms", "30000"},
	{"message.max.bytes", "20000000"},
	{"topic.metadata.refresh.interval.ms", "30000"},
	{NULL, NULL}
};

static bool
read_conf(KafkaSettings *settings, const json_t *object, WorkerFault *fault)
{
	KafkaFault	found = {NULL, NULL};

	settings->conf = kafka_conf_new(object, defaults, &found);
	fault->setting = found.setting;
	fault->reason = found.reason;
	if (settings->conf == NULL)
		return false;
	kafka_conf_set(settings->conf, "acks", "all");
	kafka_conf_set(settings->conf, "enable.idempotence", "true");
	return true;
}

KafkaSettings *
kafka_settings_new(const char *hello, WorkerFault *fault)
{
	KafkaSettings *settings = palloc0(sizeof(KafkaSettings));
	json_t	   *object = json_loads(hello, 0, NULL);
	const json_t *told = json_object_get(object, "settings");
	bool		is_fine = read_topic(settings, told, fault) && read_conf(settings, told, fault);

	json_decref(object);
	if (is_fine)
		return settings;
	kafka_settings_free(settings);
	return NULL;
}

void
kafka_settings_free(KafkaSettings *settings)
{
	if (settings == NULL)
		return;
	if (settings->conf != NULL)
		rd_kafka_conf_destroy(settings->conf);
	pfree(settings->topic);
	pfree(settings);
}

const char *
kafka_settings_topic(const KafkaSettings *settings, const char *named, char **topic)
{
	*topic = NULL;
	if (named == NULL && !settings->is_exact)
		return "the task names no topic in its sub_type";
	*topic = pstrdup(named != NULL ? named : settings->topic);
	if (pattern_fit(settings->topic, *topic) == 0)
		return "the handler does not send to the topic that the task names in its sub_type";
	return kafka_topic_check(*topic);
}
