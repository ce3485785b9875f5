#include "base/port.h"

#include "options/place.h"

#define MESSAGE_MAX_BYTES 1500

static void
append_path(const Place *place, StringInfo out)
{
	if (place->outer == NULL)
		return;
	append_path(place->outer, out);
	if (place->key == NULL)
		appendStringInfo(out, "[%d]", place->index);
	else
		appendStringInfo(out, "%s%s", out->len > 0 ? "." : "", place->key);
}

bool
place_fail(const Place *place, const char *fmt,...)
{
	const Place *known = place;
	char		what[MESSAGE_MAX_BYTES];
	StringInfoData path;
	va_list		args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	while (known->node == NULL && known->outer != NULL)
		known = known->outer;
	initStringInfo(&path);
	append_path(place, &path);
	pfree(*place->reader->error);
	*place->reader->error = source_message(place->reader->source, known->node,
										   path.data, what);
	pfree(path.data);
	return false;
}

Place
place_of_key(const Place *outer, const char *key)
{
	Place		place = {.reader = outer->reader, .outer = outer, .key = key};
	const yaml_node_pair_t *pair;

	if (outer->node == NULL || outer->node->type != YAML_MAPPING_NODE)
		return place;
	for (pair = outer->node->data.mapping.pairs.start;
		 pair < outer->node->data.mapping.pairs.top; pair++)
	{
		place.sign = source_node(outer->reader->source, pair->key);
		if (!source_has_text(place.sign, key))
			continue;
		place.node = source_node(outer->reader->source, pair->value);
		break;
	}
	return place;
}

int
place_entries(const yaml_node_t *list)
{
	return list->data.sequence.items.top - list->data.sequence.items.start;
}

Place
place_of_entry(const Place *outer, int index)
{
	Place		place = {outer->reader, outer, NULL, index, NULL, outer->node};

	if (outer->node != NULL && outer->node->type == YAML_SEQUENCE_NODE &&
		index < place_entries(outer->node))
		place.node = source_node(outer->reader->source,
								 outer->node->data.sequence.items.start[index]);
	return place;
}

/*
 * Follows the rest of a path to a part of the place, such as types[1], or
 * settings["linger.ms"] for a key that itself has dots.
 */
static bool
fail_inside(const Place *place, const char *way, const char *what)
{
	size_t		len;
	char	   *key;
	char	   *quoted = NULL;
	Place		inner;

	if (*way == '\0')
		return place_fail(place, "%s", what);
	way += *way == '.';
	len = way[0] == '[' ? strcspn(way, "]") + 1 : strcspn(way, ".[");
	key = pnstrdup(way, len);
	if (key[0] != '[')
		inner = place_of_key(place, key);
	else if (key[1] != '"')
		inner = place_of_entry(place, (int) strtol(key + 1, NULL, 10));
	else
	{
		quoted = pnstrdup(key + 2, strcspn(key + 2, "\""));
		inner = place_of_key(place, quoted);
	}
	fail_inside(&inner, way + len, what);
	pfree(key);
	pfree(quoted);
	return false;
}

bool
options_fail(const Place *place, const char *option, const char *fmt,...)
{
	char		what[MESSAGE_MAX_BYTES];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return fail_inside(place, option, what);
}

bool
options_fail_for_now(const Place *place, const char *option, const char *what)
{
	place->reader->may_pass = true;
	return fail_inside(place, option, what);
}

void
options_note(const Place *place, const char *option, const char *what)
{
	if (*place->reader->error == NULL)
		(void) fail_inside(place, option, what);
}

bool
options_given(const Place *place, const char *name)
{
	return place_of_key(place, name).node != NULL;
}

/* A YAML null is usually a mistake. */
static bool
is_null(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE &&
		node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		(source_has_text(node, "") || source_has_text(node, "~") || source_has_text(node, "null") ||
		 source_has_text(node, "Null") || source_has_text(node, "NULL"));
}

bool
place_take(const Place *place, yaml_node_type_t shape)
{
	const yaml_node_t *node = place->node;

	if (place->outer != NULL && is_null(node))
		return place_fail(place, "there is no value; leave the key out to have its default");
	if (node->type != shape)
		return place_fail(place, shape == YAML_SCALAR_NODE ? "must be a single value" :
						  shape == YAML_SEQUENCE_NODE ? "must be a list" :
						  "must have keys and values");
	if (shape == YAML_SCALAR_NODE && !source_has_text(node, source_text(node)))
		return place_fail(place, "a text has a NUL character");
	return true;
}
