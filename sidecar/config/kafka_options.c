/*-------------------------------------------------------------------------
 *
 * kafka_options.c
 *		How to reach Kafka: the section "kafka" of the file.
 *
 * The lengths of group, namespace, prefix and bucket add up to a topic's name
 * that Kafka accepts.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config/kafka_options.h"
#include "options/hello.h"
#include "options/secret_file.h"

static const char *
check_name(const char *text)
{
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789._-")] == '\0')
		return NULL;
	return "a part of a topic's name has letters, digits and . _ -";
}

static const Option kafka_options[] = {
	{
		"brokers", OPTION_WORDS, .needs_restart = true,
		.min = 1, .max = 100,
		.offset = offsetof(KafkaOptions, brokers),
		.help = "HOST:PORT of some brokers; the client finds the others"
	},
	{
		"group", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 100, .check = check_name,
		.offset = offsetof(KafkaOptions, group),
		.help = "nodes of one database that share triggers, as consumers of one group"
	},
	{
		"namespace", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 40, .check = check_name,
		.offset = offsetof(KafkaOptions, namespace),
		.help = "the beginning of the names of topics, which a . follows"
	},
	{
		"prefixes", OPTION_WORDS, .needs_restart = true,
		.min = 1, .max = 20, .check = check_name,
		.offset = offsetof(KafkaOptions, prefixes),
		.help = "for each, the topics whose names have it in front are also read, such as the topics of another data centre"
	},
	{
		"settings", OPTION_SETTINGS, .needs_restart = true,
		.offset = offsetof(KafkaOptions, settings),
		.help = "settings of librdkafka, such as security.protocol"
	},
	{
		"secrets", OPTION_SETTINGS, .needs_restart = true,
		.offset = offsetof(KafkaOptions, secrets),
		.help = "settings whose values are in files: the path of each, such as the file of sasl.password"
	},
};

static bool
settle(void *target, const Place *place)
{
	KafkaOptions *options = target;

	(void) place;
	options->stamp = secret_file_stamp(options->secrets);
	return true;
}

static void
release(void *target)
{
	pfree(((KafkaOptions *) target)->stamp);
}

const Section kafka_section = {
	kafka_options, lengthof(kafka_options), sizeof(KafkaOptions), settle, release
};

json_t *
kafka_options_told(const KafkaOptions *options)
{
	json_t	   *told = hello_settings(&kafka_section, options);

	if (options->stamp != NULL && options->stamp[0] != '\0')
		json_object_set_new(told, "stamp", json_string(options->stamp));
	return told;
}

bool
kafka_options_complete(const KafkaOptions *options, const Place *place)
{
	if (options->brokers != NULL && options->group != NULL)
		return true;
	return options_fail(place, "queue", "\"kafka\" needs kafka.brokers and kafka.group");
}
