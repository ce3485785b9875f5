/*-------------------------------------------------------------------------
 *
 * config.c
 *		The configuration file, read and checked.
 *
 * The table in options.c is walked together with what the file has: each
 * option is taken from there, else from its default, which goes through the
 * same checks.  What concerns several options is judged last, in
 * config_settle.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/pattern.h"
#include "config/config.h"
#include "config/config_load.h"
#include "config/config_settle.h"
#include "config/values.h"

typedef struct Reader
{
	const ConfigSource *source;
	char	  **error;
} Reader;

/* One section of the file and what it fills. */
typedef struct Filling
{
	const Section *section;
	const RawSection *raw;		/* NULL: not in the file */
	char	   *target;
	const char *place;			/* "" at the top level */
} Filling;

static bool read_section(Reader *reader, const Filling *filling);

static const RawValue *
raw_value(const Filling *filling, const Option *option)
{
	static const RawValue absent;

	if (filling->raw == NULL)
		return &absent;
	return &filling->raw->values[option - filling->section->options];
}

static char *
place_of(const Filling *filling, const Option *option)
{
	return psprintf("%s%s%s", filling->place,
					filling->place[0] != '\0' ? "." : "", option->name);
}

/* Stores one value or word; text of the file or a default. */
static bool
read_value(Reader *reader, const Option *option, const char *text,
		   void *target, const char *place)
{
	char	   *reason = NULL;

	if (values_parse(option, text, target, &reason))
		return true;
	*reader->error = config_source_message(reader->source, place, "%s",
										   reason);
	pfree(reason);
	return false;
}

static void
free_words(char **words)
{
	int			i;

	for (i = 0; words != NULL && words[i] != NULL; i++)
		pfree(words[i]);
	pfree(words);
}

static bool
is_repeated(char **words, int nwords)
{
	int			i;

	for (i = 0; i < nwords - 1; i++)
		if (strcmp(words[i], words[nwords - 1]) == 0)
			return true;
	return false;
}

/*
 * The array is in place from the start and ends in NULL, so that
 * config_free() finds what there is of it at any time.
 */
static bool
read_words(Reader *reader, const Option *option, const RawValue *value,
		   void *target, const char *place)
{
	char	  **words = palloc0((value->count + 1) * sizeof(char *));
	uint32		i;

	/* Two options may fill the same member; config_settle() will refuse it. */
	free_words(*(char ***) target);
	*(char ***) target = words;
	for (i = 0; i < value->count; i++)
	{
		char	   *entry = psprintf("%s[%u]", place, i);
		bool		is_fine = read_value(reader, option, value->words[i],
										 &words[i], entry);

		if (is_fine && option->kind == OPTION_WORDS && is_repeated(words, i + 1))
		{
			is_fine = false;
			*reader->error = config_source_message(reader->source, entry,
												   "\"%s\" is there twice",
												   words[i]);
		}
		pfree(entry);
		if (!is_fine)
			return false;
	}
	return true;
}

static bool
read_list(Reader *reader, const Filling *filling, const Option *option,
		  const char *place)
{
	const RawValue *value = raw_value(filling, option);
	char	   *fallback = unconstify(char *, option->fallback);
	RawValue	default_value = {.words = &fallback, .count = 1};

	if (value->words == NULL && option->fallback == NULL)
		return true;
	if (value->words == NULL)
		value = &default_value;
	if (option->kind == OPTION_WORDS)
		*(int *) (filling->target + option->count_offset) = value->count;
	return read_words(reader, option, value, filling->target + option->offset,
					  place);
}

static bool
read_child(Reader *reader, const Filling *filling, const Option *option,
		   const char *place)
{
	Filling		child = {
		.section = option->section,
		.raw = raw_value(filling, option)->sections,
		.target = filling->target + option->offset,
		.place = place
	};

	return read_section(reader, &child);
}

static bool
read_children(Reader *reader, const Filling *filling, const Option *option,
			  const char *place)
{
	const RawValue *value = raw_value(filling, option);
	size_t		size = option->section->size;
	char	   *children = palloc0(Max(value->count, 1) * size);
	uint32		i;

	*(char **) (filling->target + option->offset) = children;
	*(int *) (filling->target + option->count_offset) = value->count;
	for (i = 0; i < value->count; i++)
	{
		char	   *entry = psprintf("%s[%u]", place, i);
		Filling		child = {
			.section = option->section,
			.raw = &value->sections[i],
			.target = children + i * size,
			.place = entry
		};
		bool		is_fine = read_section(reader, &child);

		pfree(entry);
		if (!is_fine)
			return false;
	}
	return true;
}

static bool
read_option(Reader *reader, const Filling *filling, const Option *option,
			const char *place)
{
	const char *text;

	if (option->is_required && raw_value(filling, option)->text == NULL)
	{
		*reader->error = config_source_message(reader->source, place,
											   "the key is missing");
		return false;
	}
	switch (option->kind)
	{
		case OPTION_WORDS:
		case OPTION_ARGV:
			return read_list(reader, filling, option, place);
		case OPTION_SECTION:
			return read_child(reader, filling, option, place);
		case OPTION_SECTIONS:
			return read_children(reader, filling, option, place);
		default:
			text = raw_value(filling, option)->text;
			if (text == NULL)
				text = option->fallback;
			return text == NULL ||
				read_value(reader, option, text,
						   filling->target + option->offset, place);
	}
}

static bool
read_section(Reader *reader, const Filling *filling)
{
	int			i;

	for (i = 0; i < filling->section->noptions; i++)
	{
		const Option *option = &filling->section->options[i];
		char	   *place = place_of(filling, option);
		bool		is_fine = read_option(reader, filling, option, place);

		pfree(place);
		if (!is_fine)
			return false;
	}
	return true;
}

bool
config_load(const char *path, const Section *root, void *target,
			ConfigSettle settle, char **error)
{
	ConfigSource *source = config_source_read(path, error);
	Reader		reader = {source, error};
	Filling		filling = {.section = root, .target = target, .place = ""};
	RawSection *raw;
	bool		is_fine;

	if (source == NULL)
		return false;
	is_fine = config_schema_load(source, root, &raw, error);
	if (is_fine)
	{
		filling.raw = raw;
		is_fine = read_section(&reader, &filling) && settle(target, raw, source, error);
		config_schema_free(root, raw);
	}
	config_source_free(source);
	return is_fine;
}

Config *
config_read(const char *path, char **error)
{
	Config	   *config = palloc0(sizeof(Config));

	if (config_load(path, options_root(), config, config_settle, error))
		return config;
	config_free(config);
	return NULL;
}

/* Pointers are cleared: two options may fill the same member. */
void
config_clear(const Section *section, void *target)
{
	int			i;
	int			j;

	for (i = 0; i < section->noptions; i++)
	{
		const Option *option = &section->options[i];
		char	  **member = (char **) ((char *) target + option->offset);

		switch (option->kind)
		{
			case OPTION_WORDS:
			case OPTION_ARGV:
				free_words(*(char ***) member);
				*member = NULL;
				break;
			case OPTION_TEXT:
			case OPTION_CONNINFO:
				pfree(*member);
				*member = NULL;
				break;
			case OPTION_SECTION:
				config_clear(option->section, member);
				break;
			case OPTION_SECTIONS:
				for (j = 0; j < *(int *) ((char *) target + option->count_offset); j++)
					config_clear(option->section,
								 *member + j * option->section->size);
				pfree(*member);
				break;
			default:
				break;
		}
	}
}

void
config_free(Config *config)
{
	for (int i = 0; i < config->nhandlers; i++)
	{
		pfree(config->handlers[i].settings);
		pfree(config->handlers[i].hello);
	}
	config_clear(options_root(), config);
	pfree(config);
}

const HandlerConfig *
config_handler(const Config *config, const char *type)
{
	const HandlerConfig *best = NULL;
	size_t		best_fit = 0;
	int			i;
	int			j;

	for (i = 0; i < config->nhandlers; i++)
	{
		const HandlerConfig *handler = &config->handlers[i];

		for (j = 0; j < handler->ntypes; j++)
		{
			size_t		this_fit = pattern_fit(handler->types[j], type);

			if (this_fit > best_fit)
			{
				best = handler;
				best_fit = this_fit;
			}
		}
	}
	return best;
}

int
config_bucket(const Config *config, const char *name, size_t len)
{
	int			i = config->nbuckets - 1;

	while (i >= 0 && (strlen(config->buckets[i]) != len ||
					  memcmp(config->buckets[i], name, len) != 0))
		i--;
	return i;
}
