/*-------------------------------------------------------------------------
 *
 * worker_settings.c
 *		The settings that the configuration file has for a worker: any mapping.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>
#include <yaml.h>

#include "config/worker_settings.h"

static json_t *node_json(yaml_document_t *document, const yaml_node_t *node);

static const char *
text_of(const yaml_node_t *node)
{
	return node != NULL && node->type == YAML_SCALAR_NODE ?
		(const char *) node->data.scalar.value : NULL;
}

/* The value of that key; NULL: there is none. */
static yaml_node_t *
member(yaml_document_t *document, const yaml_node_t *mapping, const char *key)
{
	if (mapping == NULL || mapping->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
		 pair < mapping->data.mapping.pairs.top; pair++)
	{
		const char *name = text_of(yaml_document_get_node(document, pair->key));

		if (name != NULL && strcmp(name, key) == 0)
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

static yaml_node_t *
entry(yaml_document_t *document, const yaml_node_t *list, int number)
{
	if (list == NULL || list->type != YAML_SEQUENCE_NODE ||
		list->data.sequence.items.start + number >= list->data.sequence.items.top)
		return NULL;
	return yaml_document_get_node(document, list->data.sequence.items.start[number]);
}

static json_t *
scalar_json(const yaml_node_t *node)
{
	const char *text = text_of(node);
	json_t	   *value = NULL;

	if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		value = json_loads(text, JSON_DECODE_ANY, NULL);
	return value != NULL ? value : json_stringn(text, node->data.scalar.length);
}

static json_t *
list_json(yaml_document_t *document, const yaml_node_t *node)
{
	json_t	   *list = json_array();

	for (yaml_node_item_t *item = node->data.sequence.items.start;
		 item < node->data.sequence.items.top; item++)
		json_array_append_new(list, node_json(document, yaml_document_get_node(document, *item)));
	return list;
}

/* A key that is no text has no place in JSON. */
static json_t *
mapping_json(yaml_document_t *document, const yaml_node_t *node)
{
	json_t	   *object = json_object();

	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		 pair < node->data.mapping.pairs.top; pair++)
	{
		const char *key = text_of(yaml_document_get_node(document, pair->key));

		if (key != NULL)
			json_object_set_new(object, key,
								node_json(document, yaml_document_get_node(document, pair->value)));
	}
	return object;
}

static json_t *
node_json(yaml_document_t *document, const yaml_node_t *node)
{
	switch (node->type)
	{
		case YAML_MAPPING_NODE:
			return mapping_json(document, node);
		case YAML_SEQUENCE_NODE:
			return list_json(document, node);
		default:
			return scalar_json(node);
	}
}

static const char *
take(yaml_document_t *document, int handler, char **json)
{
	const yaml_node_t *handlers = member(document, yaml_document_get_root_node(document), "handlers");
	const yaml_node_t *node = member(document, entry(document, handlers, handler), "settings");
	json_t	   *object;
	char	   *text;

	if (node == NULL)
		return NULL;
	if (node->type != YAML_MAPPING_NODE)
		return "must have keys and values";
	object = node_json(document, node);
	text = json_dumps(object, 0);
	*json = pstrdup(text);
	free(text);
	json_decref(object);
	return NULL;
}

const char *
worker_settings_read(const ConfigSource *source, int handler, char **json)
{
	const char *error = NULL;
	size_t		len;
	const char *text = config_source_text(source, &len);
	yaml_parser_t parser;
	yaml_document_t document;

	*json = NULL;
	if (!yaml_parser_initialize(&parser))
		return "out of memory";
	yaml_parser_set_input_string(&parser, (const unsigned char *) text, len);
	if (yaml_parser_load(&parser, &document))
	{
		error = take(&document, handler, json);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return error;
}
