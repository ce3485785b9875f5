/*-------------------------------------------------------------------------
 *
 * options.c
 *		Reads a configuration file into structs, as tables of options describe.
 *
 * libyaml makes a tree of the file.  This file walks the tables together with
 * the tree, so that an error message can name the line of an invalid value.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "options/options.h"
#include "options/place.h"
#include "options/values.h"
#include "options/worker_settings.h"

static bool read_section(const Place *place, const Section *section,
						 void *target);
static bool read_options(const Place *place, const Section *section,
						 char *target);
static void free_options(const Section *section, char *target);

/* Stores one value or word, which is text of the file or a default. */
static bool
read_text(const Place *place, const Option *option, const char *text,
		  void *target)
{
	char	   *reason = NULL;

	if (values_parse(option, text, target, &reason))
		return true;
	place_fail(place, "%s", reason);
	pfree(reason);
	return false;
}

static bool
read_value(const Place *place, const Option *option, void *target)
{
	if (place->node != NULL)
		return place_take(place, YAML_SCALAR_NODE) &&
			read_text(place, option, source_text(place->node), target);
	return option->fallback == NULL ||
		read_text(place, option, option->fallback, target);
}

static bool
is_repeated(char **words, int last)
{
	for (int i = 0; i < last; i++)
		if (strcmp(words[i], words[last]) == 0)
			return true;
	return false;
}

static bool
read_word(const Place *list, const Option *option, char **words, int index)
{
	Place		entry = place_of_entry(list, index);

	if (!read_value(&entry, option, &words[index]))
		return false;
	if (option->type != OPTION_WORDS || !is_repeated(words, index))
		return true;
	return place_fail(&entry, "\"%s\" is there twice", words[index]);
}

/*
 * Counts the entries of the list or, if it is not in the file, of its default.
 */
static bool
read_count(const Place *list, const Option *option, char *target, int *count)
{
	*count = option->fallback != NULL;
	if (list->node != NULL)
	{
		if (!place_take(list, YAML_SEQUENCE_NODE))
			return false;
		*count = place_entries(list->node);
		if (*count < option->min)
			return place_fail(list, "the list must not be empty");
		if (*count > option->max)
			return place_fail(list, "the list is too long");
	}
	if (option->count_offset != 0)
		*(int *) (target + option->count_offset) = *count;
	return true;
}

/*
 * Keeps the array NULL-terminated at any time, so that it can be freed half
 * read.
 */
static bool
read_words(const Place *place, const Option *option, char *target)
{
	int			count;
	char	  **words;

	if (!read_count(place, option, target, &count))
		return false;
	if (count == 0)
		return true;
	words = palloc0((count + 1) * sizeof(char *));
	*(char ***) (target + option->offset) = words;
	for (int i = 0; i < count; i++)
		if (!read_word(place, option, words, i))
			return false;
	return true;
}

static const Option *
kind_option(const Section *section)
{
	for (int i = 0; i < section->noptions; i++)
		if (section->options[i].type == OPTION_KIND)
			return &section->options[i];
	return NULL;
}

/* Returns NULL if the entry has no kind, or none yet. */
const Section *
options_kind(const Section *section, const void *source)
{
	const Option *option = kind_option(section);

	return option == NULL ? NULL :
		*(const Section *const *) ((const char *) source + option->offset);
}

static const char *
kind_name(const Section *kind)
{
	return kind->options[0].name;
}

/* Returns NULL if the keys name several kinds, or none. */
static const Section *
kind_of(const Place *place)
{
	const Section *found = NULL;

	for (const Section *const *kind = place->reader->kinds; *kind != NULL; kind++)
	{
		if (!options_given(place, kind_name(*kind)))
			continue;
		if (found != NULL)
			return NULL;
		found = *kind;
	}
	return found;
}

static bool
read_sections(const Place *place, const Option *option, char *target)
{
	int			count;
	void	  **entries;

	if (!read_count(place, option, target, &count))
		return false;
	entries = palloc0((count + 1) * sizeof(void *));
	*(void ***) (target + option->offset) = entries;
	for (int i = 0; i < count; i++)
	{
		Place		entry = place_of_entry(place, i);
		const Section *kind = kind_option(option->section) != NULL ? kind_of(&entry) : NULL;

		entries[i] = palloc0(kind != NULL ? kind->size : option->section->size);
		if (!read_section(&entry, option->section, entries[i]))
			return false;
	}
	return true;
}

static const Option *
find_option(const Section *section, const char *name)
{
	for (int i = 0; i < section->noptions; i++)
		if (section->options[i].type != OPTION_KIND &&
			strcmp(section->options[i].name, name) == 0)
			return &section->options[i];
	return NULL;
}

/* Finds an option of any kind, for sections that have kinds. */
static const Option *
find_kinds_option(const Place *place, const Section *section, const char *name)
{
	const Option *option = NULL;

	if (kind_option(section) != NULL)
		for (const Section *const *kind = place->reader->kinds;
			 option == NULL && *kind != NULL; kind++)
			option = find_option(*kind, name);
	return option;
}

/*
 * Notes plain values of another kind, which a handler may keep when its kind
 * changes.  Refuses a role, directory or list of another kind: without it, the
 * handler would run with other rights, or elsewhere.
 */
static bool
check_other_kinds(const Place *place, const Section *section,
				  const Section *kind, const char *noun)
{
	const yaml_node_pair_t *pair;

	if (place->node == NULL)
		return true;
	pair = place->node->data.mapping.pairs.start;
	for (; pair < place->node->data.mapping.pairs.top; pair++)
	{
		const char *key = source_text(source_node(place->reader->source, pair->key));
		const Option *option = find_kinds_option(place, section, key);
		Place		value = place_of_key(place, key);

		if (find_option(section, key) != NULL || find_option(kind, key) != NULL)
			continue;
		value.node = value.sign;
		if (option->type < OPTION_INTEGER || option->type > OPTION_CHOICE)
			return place_fail(&value, "%s of this kind cannot have it", noun);
		if (*place->reader->error == NULL)
			(void) place_fail(&value, "it has no effect on %s of this kind", noun);
	}
	return true;
}

static bool
fail_without_kind(const Place *place, const Option *option)
{
	StringInfoData names;

	initStringInfo(&names);
	for (const Section *const *kind = place->reader->kinds; *kind != NULL; kind++)
		appendStringInfo(&names, "%s%s", kind_name(*kind),
						 kind[1] == NULL ? "" : kind[2] == NULL ? " and " : ", ");
	place_fail(place, "%s must have exactly one of %s", option->help, names.data);
	pfree(names.data);
	return false;
}

static bool
read_kind(const Place *place, const Section *section, const Option *option,
		  char *target)
{
	const Section *kind = kind_of(place);

	if (kind == NULL)
		return fail_without_kind(place, option);
	*(const Section **) (target + option->offset) = kind;
	return check_other_kinds(place, section, kind, option->help) &&
		read_options(place, kind, target);
}

static bool
read_settings(const Place *place, char **target)
{
	if (place->node == NULL)
		return true;
	if (!place_take(place, YAML_MAPPING_NODE))
		return false;
	*target = worker_settings_json(place->reader->source, place->node);
	return true;
}

static bool
read_option(const Place *section, const Option *option, char *target)
{
	Place		place = place_of_key(section, option->name);

	if (option->is_required && place.node == NULL)
		return place_fail(&place, "the key is missing");
	switch (option->type)
	{
		case OPTION_WORDS:
		case OPTION_ARGV:
			return read_words(&place, option, target);
		case OPTION_SETTINGS:
			return read_settings(&place, (char **) (target + option->offset));
		case OPTION_SECTION:
			return read_section(&place, option->section, target + option->offset);
		case OPTION_SECTIONS:
			return read_sections(&place, option, target);
		default:
			return read_value(&place, option, target + option->offset);
	}
}

static bool
read_options(const Place *place, const Section *section, char *target)
{
	for (int i = 0; i < section->noptions; i++)
	{
		const Option *option = &section->options[i];

		if (option->type == OPTION_KIND ?
			!read_kind(place, section, option, target) :
			!read_option(place, option, target))
			return false;
	}
	return true;
}

/* Each key must be an option, and must appear once. */
static bool
check_keys(const Place *place, const Section *section)
{
	const yaml_node_pair_t *pairs = place->node->data.mapping.pairs.start;
	int			npairs = place->node->data.mapping.pairs.top - pairs;

	for (int i = 0; i < npairs; i++)
	{
		const yaml_node_t *node = source_node(place->reader->source, pairs[i].key);
		Place		key = {place->reader, place, "", 0, node};
		Place		first;

		if (node->type != YAML_SCALAR_NODE)
		{
			key.outer = place->outer;
			return place_fail(&key, "a key must be a plain word");
		}
		key.key = source_text(node);
		if (!source_has_text(node, key.key) ||
			(find_option(section, key.key) == NULL &&
			 find_kinds_option(place, section, key.key) == NULL))
			return place_fail(&key, "unrecognized key");
		first = place_of_key(place, key.key);
		if (first.sign != node)
			return place_fail(&key, "the key is there twice");
	}
	return true;
}

static bool
read_section(const Place *place, const Section *section, void *target)
{
	const Section *kind;

	if (place->node != NULL &&
		(!place_take(place, YAML_MAPPING_NODE) || !check_keys(place, section)))
		return false;
	if (!read_options(place, section, target) ||
		(section->settle != NULL && !section->settle(target, place)))
		return false;
	kind = options_kind(section, target);
	return kind == NULL || kind->settle == NULL || kind->settle(target, place);
}

void *
options_read(const Section *section, const Section *const *kinds,
			 const char *path, char **error)
{
	Source	   *source = source_read(path, error);
	Reader		reader = {source, kinds, error, false};
	Place		whole = {.reader = &reader};
	void	   *target;

	if (source == NULL)
	{
		errno = ENOENT;
		return NULL;
	}
	*error = NULL;
	whole.node = source_root(source);
	target = palloc0(section->size);
	if (!read_section(&whole, section, target))
	{
		options_free(section, target);
		target = NULL;
	}
	source_free(source);
	errno = reader.may_pass ? EAGAIN : EINVAL;
	return target;
}

static void
free_words(char **words)
{
	for (int i = 0; words != NULL && words[i] != NULL; i++)
		pfree(words[i]);
	pfree(words);
}

static void
free_sections(const Section *section, void **entries)
{
	for (int i = 0; entries != NULL && entries[i] != NULL; i++)
		options_free(section, entries[i]);
	pfree(entries);
}

static void
free_option(const Option *option, char *target)
{
	void	   *member = target + option->offset;

	switch (option->type)
	{
		case OPTION_WORDS:
		case OPTION_ARGV:
			free_words(*(char ***) member);
			break;
		case OPTION_TEXT:
		case OPTION_SETTINGS:
			pfree(*(char **) member);
			break;
		case OPTION_CONNINFO:
			text_forget(*(char **) member);
			break;
		case OPTION_SECTION:
			free_options(option->section, member);
			break;
		case OPTION_SECTIONS:
			free_sections(option->section, *(void ***) member);
			break;
		default:
			break;
	}
}

static void
free_options(const Section *section, char *target)
{
	const Section *kind = options_kind(section, target);

	if (section->release != NULL)
		section->release(target);
	for (int i = 0; i < section->noptions; i++)
		free_option(&section->options[i], target);
	if (kind != NULL)
		free_options(kind, target);
}

void
options_free(const Section *section, void *target)
{
	free_options(section, target);
	pfree(target);
}
