/*-------------------------------------------------------------------------
 *
 * kafka_conf.c
 *		Settings of librdkafka, as a configuration file has them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/secret_file.h"
#include "workers/kafka/kafka_conf.h"

#define TOPIC_MAX 249
#define ERROR_MAX 512

/* A setting that the file must not have, and what to do instead. */
typedef struct Refusal
{
	const char *name;
	const char *why;
} Refusal;

#define PROMISE "delivery rests on it, so twtasks sets it"
#define SECRET "it is a secret: write it to a file, and name the file in \"secrets\""

static const Refusal refusals[] = {
	{"bootstrap.servers", "the option \"brokers\" has them"},
	{"metadata.broker.list", "the option \"brokers\" has them"},
	{"acks", PROMISE},
	{"request.required.acks", PROMISE},
	{"enable.idempotence", PROMISE},
	{"transactional.id", PROMISE},
	{"enable.auto.commit", PROMISE},
	{"enable.auto.offset.store", PROMISE},
	{"group.id", PROMISE},
	{"group.instance.id", "the nodes share a configuration, and members with one id displace each other"},
	{"sasl.password", SECRET},
	{"ssl.key.password", SECRET},
	{"ssl.keystore.password", SECRET},
	{"ssl.key.pem", "it is a secret: name its file with \"ssl.key.location\""},
	{"sasl.oauthbearer.client.secret", SECRET},
	{"sasl.oauthbearer.config", SECRET},
};

static bool
fail(KafkaFault *fault, char *setting, char *reason)
{
	fault->setting = setting;
	fault->reason = reason;
	return false;
}

void
kafka_conf_set(rd_kafka_conf_t * conf, const char *name, const char *value)
{
	char		error[ERROR_MAX];

	if (rd_kafka_conf_set(conf, name, value, error, sizeof(error)) != RD_KAFKA_CONF_OK)
	{
		fprintf(stderr, "could not set %s of librdkafka: %s\n", name, error);
		abort();
	}
}

static bool
set(rd_kafka_conf_t * conf, const char *name, const char *value, char **reason)
{
	char		error[ERROR_MAX];

	switch (rd_kafka_conf_set(conf, name, value, error, sizeof(error)))
	{
		case RD_KAFKA_CONF_OK:
			return true;
		case RD_KAFKA_CONF_UNKNOWN:
			*reason = pstrdup("librdkafka does not know this setting");
			return false;
		default:
			*reason = pstrdup(error);
			return false;
	}
}

/*
 * Returns the value as librdkafka reads it, palloc'd; NULL for a list or an
 * object.
 */
static char *
scalar_text(const json_t *value)
{
	switch (json_typeof(value))
	{
		case JSON_STRING:
			return pstrdup(json_string_value(value));
		case JSON_INTEGER:
			return psprintf("%lld", (long long) json_integer_value(value));
		case JSON_REAL:
			return psprintf("%.15g", json_real_value(value));
		case JSON_TRUE:
			return pstrdup("true");
		case JSON_FALSE:
			return pstrdup("false");
		default:
			return NULL;
	}
}

static const char *
find_refusal(const char *name)
{
	for (size_t i = 0; i < lengthof(refusals); i++)
		if (strcmp(refusals[i].name, name) == 0)
			return refusals[i].why;
	return NULL;
}

static bool
read_setting(rd_kafka_conf_t * conf, const char *name, const json_t *value, char **reason)
{
	const char *refusal = find_refusal(name);
	char	   *text = scalar_text(value);
	bool		is_fine = refusal == NULL && text != NULL;

	if (refusal != NULL)
		*reason = pstrdup(refusal);
	else if (text == NULL)
		*reason = pstrdup("must be a single value");
	else
		is_fine = set(conf, name, text, reason);
	pfree(text);
	return is_fine;
}

static bool
read_secret(rd_kafka_conf_t * conf, const char *name, const json_t *value, char **reason)
{
	const char *path = json_string_value(value);
	char	  **lines;
	bool		is_fine;

	if (path == NULL || path[0] != '/')
	{
		*reason = pstrdup("must be the absolute path of a file");
		return false;
	}
	lines = secret_file_read(path, reason);
	is_fine = lines != NULL && set(conf, name, lines[0], reason);
	secret_file_forget(lines);
	return is_fine;
}

typedef bool (*ReadFn) (rd_kafka_conf_t * conf, const char *name, const json_t *value,
						char **reason);

static bool
read_all(rd_kafka_conf_t * conf, const json_t *object, const char *member, KafkaFault *fault)
{
	ReadFn		read = strcmp(member, "secrets") == 0 ? read_secret : read_setting;
	json_t	   *values = json_object_get(object, member);
	const char *name;
	json_t	   *value;
	char	   *reason;

	json_object_foreach(values, name, value)
		if (!read(conf, name, value, &reason))
			return fail(fault, psprintf("%s[\"%s\"]", member, name), reason);
	return true;
}

static bool
read_brokers(rd_kafka_conf_t * conf, const json_t *object, KafkaFault *fault)
{
	const json_t *brokers = json_object_get(object, "brokers");
	StringInfoData list;
	char	   *reason;
	bool		is_fine;

	initStringInfo(&list);
	for (size_t i = 0; i < json_array_size(brokers); i++)
	{
		const char *broker = json_string_value(json_array_get(brokers, i));

		appendStringInfo(&list, "%s%s", i > 0 ? "," : "", broker != NULL ? broker : "");
	}
	is_fine = list.len > 0 ? set(conf, "bootstrap.servers", list.data, &reason) :
		fail(fault, pstrdup("brokers"), pstrdup("the key is missing"));
	if (!is_fine && list.len > 0)
		(void) fail(fault, pstrdup("brokers"), reason);
	pfree(list.data);
	return is_fine;
}

rd_kafka_conf_t *
kafka_conf_new(const json_t *object, const KafkaDefault *defaults, KafkaFault *fault)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	kafka_conf_set(conf, "ssl.endpoint.identification.algorithm", "https");
	kafka_conf_set(conf, "client.id", "twtasks");
	for (; defaults->name != NULL; defaults++)
		kafka_conf_set(conf, defaults->name, defaults->value);
	if (read_brokers(conf, object, fault) && read_all(conf, object, "settings", fault) &&
		read_all(conf, object, "secrets", fault))
		return conf;
	rd_kafka_conf_destroy(conf);
	return NULL;
}

const char *
kafka_topic_check(const char *name)
{
	size_t		len = strlen(name);

	if (len > 0 && len <= TOPIC_MAX && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789._-")] == '\0')
		return NULL;
	return "a topic has letters, digits and . _ -, at most 249 of them";
}

char	  **
kafka_texts_new(const json_t *list)
{
	size_t		n = json_array_size(list);
	char	  **texts = palloc0((n + 1) * sizeof(char *));

	for (size_t i = 0; i < n; i++)
	{
		const char *text = json_string_value(json_array_get(list, i));

		texts[i] = pstrdup(text == NULL ? "" : text);
	}
	return texts;
}

void
kafka_texts_free(char **texts)
{
	for (int i = 0; texts != NULL && texts[i] != NULL; i++)
		pfree(texts[i]);
	pfree(texts);
}
