/*-------------------------------------------------------------------------
 *
 * listener_options.c
 *		Topics whose messages become tasks: the list "listeners" of the file.
 *
 * The database decides what becomes of a message, so most options are
 * parameters of take_messages() and go there as they are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/units.h"
#include "common/trigger.h"
#include "options/hello.h"
#include "options/judged.h"
#include "config/listener_options.h"

#define NAME_MAX_BYTES 250
#define TOPIC_MAX_BYTES 249
#define IDENTIFIER_MAX 63
#define START_MAX_US SECONDS_TO_US(366 * 86400)

static const Choice value_choices[] = {
	{"json", 0},
	{"bytes", 1},
	{NULL, 0}
};

static const Choice corrupt_choices[] = {
	{"retry", 0},
	{"task", 1},
	{NULL, 0}
};

static const char *
check_name(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char) *text < ' ' || *text == 0x7f)
			return "a name has no control characters";
	return NULL;
}

static const char *
check_topic(const char *text)
{
	if (strcmp(text, ".") != 0 && strcmp(text, "..") != 0 &&
		text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789._-")] == '\0')
		return NULL;
	return "a topic has letters, digits and . _ -";
}

static const char *
check_type(const char *text)
{
	if (trigger_type_valid(text, strlen(text)))
		return NULL;
	return "a type has letters, digits and _ . : | / -";
}

static const char *
check_function(const char *text)
{
	const char *dot = strchr(text, '.');

	if (dot != NULL && dot > text && dot[1] != '\0')
		return NULL;
	return "the function must have its schema in the name";
}

static bool
is_key(const char *text, size_t len)
{
	return (len == 7 && strncmp(text, "message", len) == 0) ||
		(len == 8 && strncmp(text, "position", len) == 0) ||
		(len >= 6 && strncmp(text, "json:/", 6) == 0) ||
		(len > 7 && strncmp(text, "header:", 7) == 0);
}

/* As the database reads it: twtasks_internal.split_key(). */
static const char *
check_key(const char *text)
{
	size_t		prefix = strcspn(text, "{}");
	size_t		len = strlen(text);

	if (is_key(text, len) || (prefix > 0 && text[prefix] == '{' && text[len - 1] == '}' &&
							  is_key(text + prefix + 1, len - prefix - 2)))
		return NULL;
	return "a key is \"message\", \"position\", \"header:NAME\" or \"json:/path\", or one of these in braces behind a prefix";
}

static const char *
check_start(const char *text)
{
	int64		us;

	if (strcmp(text, "latest") == 0 || strcmp(text, "earliest") == 0 ||
		(units_parse_duration(text, &us) && us > 0 && us <= START_MAX_US))
		return NULL;
	return "a start is \"latest\", \"earliest\" or a duration of at most 366d, such as 30min";
}

static const Option listener_options[] = {
	{
		"name", OPTION_TEXT,
		.min = 1, .max = NAME_MAX_BYTES, .check = check_name,
		.offset = offsetof(ListenerConfig, name),
		.help = "its name in the database, which keeps its offsets; default: the first topic"
	},
	{
		"topics", OPTION_WORDS, .is_required = true,
		.min = 1, .max = 1000, .check = check_topic,
		.offset = offsetof(ListenerConfig, topics),
		.count_offset = offsetof(ListenerConfig, ntopics),
		.help = "topics that it reads"
	},
	{
		"type", OPTION_TEXT,
		.min = 1, .max = TRIGGER_TYPE_MAX, .check = check_type,
		.offset = offsetof(ListenerConfig, type),
		.help = "type of the tasks"
	},
	{
		"function", OPTION_TEXT,
		.min = 1, .max = 2 * IDENTIFIER_MAX + 1, .check = check_function,
		.offset = offsetof(ListenerConfig, function),
		.help = "in place of type: schema.function, which makes a task of a message"
	},
	{
		"value", OPTION_CHOICE, .fallback = "json", .choices = value_choices,
		.offset = offsetof(ListenerConfig, value),
		.help = "with type: the message's value is the task's data (json) or its payload (bytes)"
	},
	{
		"key", OPTION_TEXT,
		.min = 1, .max = 1000, .check = check_key,
		.offset = offsetof(ListenerConfig, key),
		.help = "with type: where the task's key is, \"message\", \"header:NAME\", \"json:/path\" or \"position\"; \"PREFIX{message}\" puts a prefix before it; default: no key"
	},
	{
		"headers", OPTION_WORDS,
		.min = 1, .max = 100,
		.offset = offsetof(ListenerConfig, headers),
		.count_offset = offsetof(ListenerConfig, nheaders),
		.help = "with type: headers that go to the task's context, besides the headers of traces; * for all"
	},
	{
		"corrupt", OPTION_CHOICE, .fallback = "retry", .choices = corrupt_choices,
		.offset = offsetof(ListenerConfig, corrupt),
		.help = "a message that gives no task holds up its partition (retry) or becomes a CORRUPTED_KAFKA_MESSAGE (task)"
	},
	{
		"start", OPTION_TEXT, .fallback = "latest",
		.min = 1, .max = 20, .check = check_start,
		.offset = offsetof(ListenerConfig, start),
		.help = "where a topic begins that is new to the listener: latest, earliest or messages of the last, such as 30min"
	},
};

/* With a function these options would silently have no effect. */
static bool
check_effect(const ListenerConfig *listener, const Place *place)
{
	const char *option = NULL;

	if (listener->function == NULL)
		return true;
	if (listener->value != 0)
		option = "value";
	if (listener->key != NULL)
		option = "key";
	if (listener->headers != NULL)
		option = "headers";
	return option == NULL || options_fail(place, option, "a listener with a function cannot have it");
}

static bool
has_path(const char *key)
{
	return strncmp(key, "json:", 5) == 0 ||
		(key[strlen(key) - 1] == '}' && strstr(key, "{json:/") != NULL);
}

static bool
settle_listener(void *target, const Place *place)
{
	ListenerConfig *listener = target;

	if ((listener->type == NULL) == (listener->function == NULL))
		return options_fail(place, "", "a listener must have exactly one of type and function");
	if (listener->value != 0 && listener->key != NULL && has_path(listener->key))
		return options_fail(place, "key", "only a value that is JSON has a path");
	if (listener->name == NULL)
		listener->name = pstrdup(listener->topics[0]);
	return check_effect(listener, place);
}

const Section listener_section = {
	listener_options, lengthof(listener_options), sizeof(ListenerConfig), settle_listener
};

static bool
check_names(ListenerConfig *const *listeners, const Place *place)
{
	for (int i = 0; listeners[i] != NULL; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(listeners[i]->name, listeners[j]->name) == 0)
			{
				char	   *option = psprintf("listeners[%d].name", i);

				(void) options_fail(place, option, "listeners[%d] has the name \"%s\" already",
									j, listeners[i]->name);
				pfree(option);
				return false;
			}
	return true;
}

bool
listeners_complete(ListenerConfig *const *listeners, const KafkaOptions *kafka,
				   const Place *place)
{
	if (kafka->brokers == NULL || kafka->group == NULL)
		return options_fail(place, "listeners", "they need kafka.brokers and kafka.group");
	return check_names(listeners, place);
}

/* ---- the line ---- */

/* A duration goes as seconds. */
static json_t *
listener_json(const ListenerConfig *listener)
{
	json_t	   *object = hello_settings(&listener_section, listener);
	int64		us;

	if (units_parse_duration(listener->start, &us))
		json_object_set_new(object, "start", json_real(us / 1e6));
	return object;
}

static json_t *
list_json(ListenerConfig *const *listeners)
{
	json_t	   *list = json_array();

	for (int i = 0; listeners[i] != NULL; i++)
		json_array_append_new(list, listener_json(listeners[i]));
	return list;
}

static char *
make_line(const ListenersOrigin *origin, ListenerConfig *const *listeners)
{
	json_t	   *log = hello_settings(&log_section, origin->log);
	json_t	   *line = json_object();
	char	   *text;
	char	   *copy;

	json_object_set_new(line, "listen", json_integer(1));
	json_object_set_new(line, "node", json_string(origin->node));
	json_object_set_new(line, "postgres", json_string(origin->postgres));
	json_object_set(line, "log", json_object_get(log, "format"));
	json_object_set(line, "level", json_object_get(log, "level"));
	json_object_set_new(line, "kafka", kafka_options_told(origin->kafka));
	json_object_set_new(line, "listeners", list_json(listeners));
	text = json_dumps(line, JSON_COMPACT);
	copy = pstrdup(text);
	free(text);
	json_decref(line);
	json_decref(log);
	return copy;
}

char *
listeners_line(const ListenersOrigin *origin, ListenerConfig *const *listeners, const Place *place)
{
	static const Judged how = {.owner = "", .option = "listeners", .use = "listen"};

	return judged_hello("kafka", make_line(origin, listeners), &how, place);
}
