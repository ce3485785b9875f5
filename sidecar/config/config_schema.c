/*-------------------------------------------------------------------------
 *
 * config_schema.c
 *		cyaml's schema made from the option table, and its complaints in our
 *		words.
 *
 * cyaml reports by log lines: the reason, then a trace of the places that it
 * was in, innermost first.  From the trace we make the path of the place.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <cyaml/cyaml.h>

#include "config/config_schema.h"

#define TEXT_MAX_BYTES 65536

/* In front of the key in cyaml's reason. */
#define UNRECOGNIZED "Unexpected key: "

/* What cyaml said when it refused the file. */
typedef struct Complaint
{
	char	   *reason;			/* NULL: nothing yet */
	char	   *place;			/* "handlers[0].types" */
} Complaint;

/* One of cyaml's reasons, known by how it begins, and ours. */
typedef struct Wording
{
	const char *begins;
	const char *ours;
} Wording;

static const Wording wordings[] = {
	{"Expecting STRING", "must be a single value"},
	{"Expecting SEQUENCE", "must be a list"},
	{"Expecting MAPPING", "must have keys and values"},
	{"Mapping field already seen", "the key is there twice"},
	{"STRING length", "the text is too long"},
	{"Excessive entries", "the list is too long"},
	{"Insufficient entries", "the list must not be empty"},
};

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, TEXT_MAX_BYTES)
};

static const cyaml_schema_field_t *make_fields(const Section *section);

static cyaml_schema_value_t
make_mapping(const Section *section, enum cyaml_flag flags)
{
	cyaml_schema_value_t schema = {
		.type = CYAML_MAPPING,
		.flags = flags,
		.data_size = sizeof(RawSection),
		.mapping = {make_fields(section)}
	};

	return schema;
}

static cyaml_schema_value_t
make_list(const Option *option, const cyaml_schema_value_t *entry,
		  size_t entry_size)
{
	cyaml_schema_value_t schema = {
		.type = CYAML_SEQUENCE,
		.flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
		.data_size = entry_size,
		.sequence = {.entry = entry, .min = option->min, .max = option->max}
	};

	return schema;
}

static cyaml_schema_value_t
make_value(const Option *option)
{
	enum cyaml_flag flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL;
	cyaml_schema_value_t *entry;
	cyaml_schema_value_t text = {
		.type = CYAML_STRING,
		.flags = flags,
		.data_size = sizeof(char),
		.string = {.min = 0, .max = TEXT_MAX_BYTES}
	};
	cyaml_schema_value_t ignored = {
		.type = CYAML_IGNORE,
		.flags = CYAML_FLAG_OPTIONAL
	};

	switch (option->kind)
	{
		case OPTION_WORDS:
		case OPTION_ARGV:
			return make_list(option, &word_schema, sizeof(char *));
		case OPTION_SECTION:
			return make_mapping(option->section, flags);
		case OPTION_SECTIONS:
			entry = palloc(sizeof(*entry));
			*entry = make_mapping(option->section, CYAML_FLAG_DEFAULT);
			return make_list(option, entry, sizeof(RawSection));
		case OPTION_SETTINGS:
			return ignored;
		default:
			return text;
	}
}

static const cyaml_schema_field_t *
make_fields(const Section *section)
{
	cyaml_schema_field_t *fields;
	int			i;

	/* The last one stays zero and ends the list. */
	fields = palloc0((section->noptions + 1) * sizeof(*fields));
	for (i = 0; i < section->noptions; i++)
	{
		size_t		offset = offsetof(RawSection, values) + i * sizeof(RawValue);

		fields[i].key = section->options[i].name;
		fields[i].data_offset = offset + offsetof(RawValue, text);
		fields[i].count_offset = offset + offsetof(RawValue, count);
		fields[i].count_size = sizeof(uint32);
		fields[i].value = make_value(&section->options[i]);
	}
	return fields;
}

/* Made once for each program's table, and kept. */
static const cyaml_schema_value_t *
root_schema(const Section *root)
{
	static cyaml_schema_value_t schema;
	static const Section *made_for;

	if (made_for != root)
		schema = make_mapping(root, CYAML_FLAG_POINTER);
	made_for = root;
	return &schema;
}

/* Puts a step before the place: the trace comes from the inside out. */
static void
prepend_step(Complaint *complaint, const char *step)
{
	char	   *inner = complaint->place;
	char		sep = inner[0] != '\0' && inner[0] != '[' ? '.' : '\0';

	complaint->place = psprintf("%s%.1s%s", step, &sep, inner);
	pfree(inner);
}

/* What stands in quotes after the beginning of a line; NULL: another line. */
static char *
quoted_after(const char *line, const char *beginning)
{
	size_t		len = strlen(beginning);

	if (strncmp(line, beginning, len) != 0)
		return NULL;
	return pnstrdup(line + len, strcspn(line + len, "'"));
}

/* Entries count from 1; 0 is a list that ended before its first. */
static void
collect_trace(Complaint *complaint, const char *line)
{
	char	   *key = quoted_after(line, "  in mapping field '");
	char	   *entry = quoted_after(line, "  in sequence entry '");

	if (key != NULL)
		prepend_step(complaint, key);
	else if (entry != NULL && strcmp(entry, "0") != 0)
	{
		char	   *step = psprintf("[%ld]", strtol(entry, NULL, 10) - 1);

		prepend_step(complaint, step);
		pfree(step);
	}
	pfree(key);
	pfree(entry);
}

static void
collect(cyaml_log_t level, void *arg, const char *fmt, va_list args)
{
	Complaint  *complaint = arg;
	char		line[512];
	const char *what = line;
	size_t		len;

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	len = strlen(line);
	if (len > 0 && line[len - 1] == '\n')
		line[len - 1] = '\0';
	if (line[0] == ' ')
	{
		collect_trace(complaint, line);
		return;
	}
	if (strncmp(what, "Load: ", 6) == 0)
		what += 6;
	if (complaint->reason == NULL && strcmp(what, "Backtrace:") != 0)
		complaint->reason = pstrdup(what);
}

/*
 * The trace of an unrecognized key ends at the mapping it is in: the key is
 * only in the reason.
 */
static char *
unrecognized_key(const ConfigSource *source, const Complaint *complaint,
				 const char *key)
{
	char	   *place = psprintf("%s%s%s", complaint->place,
								 complaint->place[0] ? "." : "", key);
	char	   *message = config_source_message(source, place,
												"unrecognized key");

	pfree(place);
	return message;
}

/* err says something even where cyaml logged nothing. */
static char *
explain(const ConfigSource *source, const Complaint *complaint,
		cyaml_err_t err)
{
	const char *reason = complaint->reason;
	int			i;

	if (reason == NULL)
		reason = cyaml_strerror(err);
	if (strncmp(reason, UNRECOGNIZED, strlen(UNRECOGNIZED)) == 0)
		return unrecognized_key(source, complaint,
								reason + strlen(UNRECOGNIZED));
	for (i = 0; i < (int) lengthof(wordings); i++)
		if (strncmp(reason, wordings[i].begins,
					strlen(wordings[i].begins)) == 0)
			reason = wordings[i].ours;
	return config_source_message(source, complaint->place, "%s", reason);
}

static cyaml_config_t
reader(Complaint *complaint)
{
	cyaml_config_t config = {
		.log_fn = collect,
		.log_ctx = complaint,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS
	};

	return config;
}

bool
config_schema_load(const ConfigSource *source, const Section *root,
				   RawSection **raw, char **error)
{
	Complaint	complaint = {NULL, pstrdup("")};
	cyaml_config_t config = reader(&complaint);
	cyaml_err_t err;
	const char *text;
	size_t		len;

	text = config_source_text(source, &len);
	*raw = NULL;
	err = cyaml_load_data((const uint8_t *) text, len, &config, root_schema(root),
						  (cyaml_data_t **) raw, NULL);
	if (err != CYAML_OK)
		*error = explain(source, &complaint, err);
	pfree(complaint.reason);
	pfree(complaint.place);
	return err == CYAML_OK;
}

void
config_schema_free(const Section *root, RawSection *raw)
{
	cyaml_config_t config = reader(NULL);

	cyaml_free(&config, root_schema(root), raw, 0);
}
