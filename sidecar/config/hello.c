/*-------------------------------------------------------------------------
 *
 * hello.c
 *		The first line that a worker's process is told.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "config/hello.h"
#include "config/options.h"

static json_t *
words_json(char *const *words)
{
	json_t	   *list = json_array();

	for (int i = 0; words != NULL && words[i] != NULL; i++)
		json_array_append_new(list, json_string(words[i]));
	return list;
}

/* NULL: the option is not set, or nothing that a program is told. */
static json_t *
value_json(const Option *option, const void *value)
{
	switch (option->kind)
	{
		case OPTION_TEXT:
			return json_string(*(char *const *) value);
		case OPTION_WORDS:
			return words_json(*(char **const *) value);
		case OPTION_INTEGER:
			return json_integer(*(const int *) value);
		case OPTION_SIZE:
			return json_integer(*(const int64 *) value);
		case OPTION_DURATION:
			return json_real(*(const int64 *) value / 1e6);
		case OPTION_CHOICE:
			return json_string(options_choice_name(option->choices, *(const int *) value));
		default:
			return NULL;
	}
}

static json_t *
http_settings(const HandlerConfig *handler)
{
	const Section *section = options_handler();
	json_t	   *settings = json_object();

	for (int i = 0; i < section->noptions; i++)
	{
		const Option *option = &section->options[i];

		if (option->modes & OPTION_MODE(HANDLER_HTTP))
			json_object_set_new(settings, option->name,
								value_json(option, (const char *) handler + option->offset));
	}
	json_object_set_new(settings, "concurrency", json_integer(handler->concurrency));
	return settings;
}

char *
hello_make(const Config *config, const HandlerConfig *handler)
{
	json_t	   *hello = json_object();
	char	   *text;
	char	   *copy;

	json_object_set_new(hello, "hello", json_integer(1));
	json_object_set_new(hello, "node", json_string(config->node));
	json_object_set_new(hello, "settings",
						handler->mode == HANDLER_HTTP ? http_settings(handler) : json_object());
	text = json_dumps(hello, JSON_COMPACT);
	copy = pstrdup(text);
	free(text);
	json_decref(hello);
	return copy;
}
