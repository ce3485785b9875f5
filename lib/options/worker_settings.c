#include "base/port.h"

#include <jansson.h>

#include "options/worker_settings.h"

static json_t *node_json(Source *source, const yaml_node_t *node);

static json_t *
scalar_json(const yaml_node_t *node)
{
	const char *text = source_text(node);
	json_t	   *value = NULL;

	if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		value = json_loads(text, JSON_DECODE_ANY, NULL);
	return value != NULL ? value : json_stringn(text, node->data.scalar.length);
}

static json_t *
list_json(Source *source, const yaml_node_t *node)
{
	json_t	   *list = json_array();

	for (yaml_node_item_t *item = node->data.sequence.items.start;
		 item < node->data.sequence.items.top; item++)
		json_array_append_new(list, node_json(source, source_node(source, *item)));
	return list;
}

/* JSON cannot hold a key that is not text. */
static json_t *
mapping_json(Source *source, const yaml_node_t *node)
{
	json_t	   *object = json_object();

	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		 pair < node->data.mapping.pairs.top; pair++)
	{
		const yaml_node_t *key = source_node(source, pair->key);

		if (key->type == YAML_SCALAR_NODE)
			json_object_set_new(object, source_text(key),
								node_json(source, source_node(source, pair->value)));
	}
	return object;
}

static json_t *
node_json(Source *source, const yaml_node_t *node)
{
	switch (node->type)
	{
		case YAML_MAPPING_NODE:
			return mapping_json(source, node);
		case YAML_SEQUENCE_NODE:
			return list_json(source, node);
		default:
			return scalar_json(node);
	}
}

char *
worker_settings_json(Source *source, const yaml_node_t *node)
{
	json_t	   *object = mapping_json(source, node);
	char	   *text = json_dumps(object, 0);
	char	   *copy = pstrdup(text);

	free(text);
	json_decref(object);
	return copy;
}
