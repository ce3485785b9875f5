/*-------------------------------------------------------------------------
 *
 * config_source.c
 *		The configuration file as text, and where in it each key stands.
 *
 * cyaml maps the text onto structs, but it tells lines only roughly and only
 * while it reads.  So libyaml's events are walked once before, to remember
 * the line of every place and to refuse what cyaml would let pass: a second
 * document, a value that is missing, a NUL in a string.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "base/text.h"
#include "config/config_source.h"

#define FILE_MAX_BYTES (1024 * 1024)
#define KEY_MAX_BYTES 100
#define DEPTH_MAX 8
#define PLACES_MAX 50000
#define MESSAGE_MAX_BYTES 1500
#define SHOWN_MAX 400

typedef struct Place
{
	char	   *path;
	int			line;			/* from 1 */
} Place;

struct ConfigSource
{
	char	   *path;			/* of the file */
	StringInfoData text;
	Place	   *places;			/* in order of the file */
	int			nplaces;
	int			places_size;
};

/* A mapping or sequence that the walk is in. */
typedef struct Frame
{
	bool		is_mapping;
	bool		expects_key;	/* mapping: a key is next, not its value */
	int			index;			/* sequence: of the next entry */
	int			path_len;		/* of the mapping's or sequence's own path */
} Frame;

typedef struct Walk
{
	ConfigSource *source;
	Frame		frames[DEPTH_MAX];
	int			depth;
	int			ndocuments;
	StringInfoData path;		/* of the value that is read */
	int			line;			/* of the event at hand */
	char	   *error;			/* NULL: none so far */
} Walk;

static int
line_of(const ConfigSource *source, const char *path, size_t len)
{
	int			i;

	/* From the end: the second of two equal keys is the one at fault. */
	for (i = source->nplaces - 1; i >= 0; i--)
	{
		const char *known = source->places[i].path;

		if (strncmp(known, path, len) == 0 && known[len] == '\0')
			return source->places[i].line;
	}
	return 0;
}

static char *
make_message(const ConfigSource *source, int line, const char *place,
			 const char *what)
{
	StringInfoData out;

	initStringInfo(&out);
	text_escape_line(&out, source->path, strlen(source->path), SHOWN_MAX);
	if (line > 0)
		appendStringInfo(&out, ":%d", line);
	appendStringInfoString(&out, ": ");
	if (place[0] != '\0')
	{
		text_escape_line(&out, place, strlen(place), SHOWN_MAX);
		appendStringInfoString(&out, ": ");
	}
	appendStringInfoString(&out, what);
	return out.data;
}

char *
config_source_message(const ConfigSource *source, const char *place,
					  const char *fmt,...)
{
	char		what[MESSAGE_MAX_BYTES];
	size_t		len = strlen(place);
	int			line = line_of(source, place, len);
	va_list		args;

	while (line == 0 && len > 0)
	{
		if (place[len - 1] == '.' || place[len - 1] == '[')
			line = line_of(source, place, len - 1);
		len--;
	}
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return make_message(source, line, place, what);
}

/*
 * A group that is ours alone: what it may write, only we may.  It has our name,
 * as where the umask is 002.
 */
static bool
is_private_group(gid_t gid)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group = getgrgid(gid);

	if (user == NULL || group == NULL || user->pw_gid != gid ||
		strcmp(user->pw_name, group->gr_name) != 0)
		return false;
	for (char **member = group->gr_mem; *member != NULL; member++)
		if (strcmp(*member, user->pw_name) != 0)
			return false;
	return true;
}

/* Only root and we ourselves may have written what decides what we run. */
static const char *
file_fault(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it must be owned by root or by the user of the daemon";
	if (st->st_mode & S_IWOTH ||
		(st->st_mode & S_IWGRP && !is_private_group(st->st_gid)))
		return "it must not be writable by group or others";
	if (st->st_size > FILE_MAX_BYTES)
		return "it is larger than 1 MB";
	return NULL;
}

/* False with errno set, or 0 when the file grew too large meanwhile. */
static bool
read_all(int fd, StringInfo text)
{
	char		buf[8192];
	ssize_t		n;

	while ((n = read(fd, buf, sizeof(buf))) > 0 && text->len <= FILE_MAX_BYTES)
		appendBinaryStringInfo(text, buf, n);
	if (n > 0)
		errno = 0;
	return n == 0;
}

/*
 * What is checked is the file that was opened, whatever the path leads to by
 * now.  O_NONBLOCK: opening a FIFO must not wait.
 */
static bool
read_file(const char *path, StringInfo text, char **error)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	const char *fault = NULL;

	if (fd < 0)
	{
		*error = psprintf("could not open configuration file \"%s\": %m", path);
		return false;
	}
	if (fstat(fd, &st) != 0)
		fault = strerror(errno);
	else if ((fault = file_fault(&st)) == NULL && !read_all(fd, text))
		fault = errno ? strerror(errno) : "it is larger than 1 MB";
	close(fd);
	if (fault != NULL)
		*error = psprintf("could not use configuration file \"%s\": %s",
						  path, fault);
	return fault == NULL;
}

static bool
walk_fail(Walk *walk, const char *what)
{
	if (walk->error == NULL)
		walk->error = make_message(walk->source, walk->line, walk->path.data,
								   what);
	return false;
}

static bool
remember_place(Walk *walk)
{
	ConfigSource *source = walk->source;

	if (source->nplaces == PLACES_MAX)
		return walk_fail(walk, "the file has too many values");
	if (source->nplaces == source->places_size)
	{
		source->places_size = Max(source->places_size * 2, 64);
		source->places = repalloc(source->places,
								  source->places_size * sizeof(Place));
	}
	source->places[source->nplaces].path = pstrdup(walk->path.data);
	source->places[source->nplaces].line = walk->line;
	source->nplaces++;
	return true;
}

static Frame *
innermost(Walk *walk)
{
	return walk->depth > 0 ? &walk->frames[walk->depth - 1] : NULL;
}

static void
truncate_path(Walk *walk, int len)
{
	walk->path.len = len;
	walk->path.data[len] = '\0';
}

/* A key was read: the path is that of its value. */
static bool
walk_key(Walk *walk, Frame *frame, const char *key)
{
	truncate_path(walk, frame->path_len);
	if (strlen(key) > KEY_MAX_BYTES)
		return walk_fail(walk, "a key is too long");
	appendStringInfo(&walk->path, "%s%s", frame->path_len > 0 ? "." : "", key);
	frame->expects_key = false;
	return remember_place(walk);
}

/* A value begins; an entry of a sequence gets its path only now. */
static bool
enter_value(Walk *walk)
{
	Frame	   *frame = innermost(walk);

	if (frame == NULL || frame->is_mapping)
		return true;
	truncate_path(walk, frame->path_len);
	appendStringInfo(&walk->path, "[%d]", frame->index);
	return remember_place(walk);
}

static void
leave_value(Walk *walk)
{
	Frame	   *frame = innermost(walk);

	if (frame == NULL)
		return;
	frame->expects_key = frame->is_mapping;
	frame->index++;
	truncate_path(walk, frame->path_len);
}

/* YAML's null, which is more often a slip than meant. */
static bool
is_null(const yaml_event_t *event)
{
	const char *value = (const char *) event->data.scalar.value;

	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		(strcmp(value, "") == 0 || strcmp(value, "~") == 0 ||
		 strcmp(value, "null") == 0 || strcmp(value, "Null") == 0 ||
		 strcmp(value, "NULL") == 0);
}

static bool
walk_scalar(Walk *walk, const yaml_event_t *event)
{
	Frame	   *frame = innermost(walk);
	const char *value = (const char *) event->data.scalar.value;

	if (strlen(value) != event->data.scalar.length)
		return walk_fail(walk, "a text has a NUL character");
	if (frame != NULL && frame->expects_key)
		return walk_key(walk, frame, value);
	if (!enter_value(walk))
		return false;
	if (frame != NULL && is_null(event))
		return walk_fail(walk, "there is no value; leave the key out to have its default");
	leave_value(walk);
	return true;
}

static bool
walk_start(Walk *walk, bool is_mapping)
{
	Frame	   *frame = innermost(walk);

	if (frame != NULL && frame->expects_key)
		return walk_fail(walk, "a key must be a plain word");
	if (!enter_value(walk))
		return false;
	if (walk->depth == DEPTH_MAX)
		return walk_fail(walk, "values are nested too deeply");
	frame = &walk->frames[walk->depth++];
	frame->is_mapping = frame->expects_key = is_mapping;
	frame->index = 0;
	frame->path_len = walk->path.len;
	return true;
}

static bool
walk_end(Walk *walk)
{
	walk->depth--;
	leave_value(walk);
	return true;
}

static bool
walk_event(Walk *walk, const yaml_event_t *event)
{
	walk->line = event->start_mark.line + 1;
	switch (event->type)
	{
		case YAML_DOCUMENT_START_EVENT:
			if (walk->ndocuments++ > 0)
				return walk_fail(walk, "the file has more than one document");
			return true;
		case YAML_ALIAS_EVENT:
			return walk_fail(walk, "aliases are not supported");
		case YAML_SCALAR_EVENT:
			return walk_scalar(walk, event);
		case YAML_SEQUENCE_START_EVENT:
			return walk_start(walk, false);
		case YAML_MAPPING_START_EVENT:
			return walk_start(walk, true);
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_END_EVENT:
			return walk_end(walk);
		default:
			return true;
	}
}

static int
line_at_offset(StringInfo text, size_t offset)
{
	int			line = 1;
	size_t		i;

	for (i = 0; i < offset && i < (size_t) text->len; i++)
		if (text->data[i] == '\n')
			line++;
	return line;
}

/* libyaml's own complaint: a reader error has an offset, others a mark. */
static bool
syntax_error(Walk *walk, const yaml_parser_t *parser)
{
	char	   *what = psprintf("invalid YAML: %s", parser->problem);

	if (parser->error == YAML_READER_ERROR)
		walk->line = line_at_offset(&walk->source->text,
									parser->problem_offset);
	else
		walk->line = parser->problem_mark.line + 1;
	truncate_path(walk, 0);
	walk_fail(walk, what);
	pfree(what);
	return false;
}

static bool
walk_file(Walk *walk, yaml_parser_t *parser)
{
	yaml_event_t event;
	bool		is_end = false;

	while (!is_end)
	{
		bool		is_fine;

		if (!yaml_parser_parse(parser, &event))
			return syntax_error(walk, parser);
		is_end = event.type == YAML_STREAM_END_EVENT;
		is_fine = walk_event(walk, &event);
		yaml_event_delete(&event);
		if (!is_fine)
			return false;
	}
	return true;
}

/* Fills the places. */
static bool
find_places(ConfigSource *source, char **error)
{
	Walk		walk = {.source = source};
	yaml_parser_t parser;
	bool		is_fine;

	initStringInfo(&walk.path);
	if (!yaml_parser_initialize(&parser))
	{
		*error = pstrdup("out of memory");
		pfree(walk.path.data);
		return false;
	}
	yaml_parser_set_input_string(&parser,
								 (const unsigned char *) source->text.data,
								 source->text.len);
	is_fine = walk_file(&walk, &parser);
	yaml_parser_delete(&parser);
	pfree(walk.path.data);
	if (!is_fine)
		*error = walk.error;
	return is_fine;
}

ConfigSource *
config_source_read(const char *path, char **error)
{
	ConfigSource *source = palloc0(sizeof(ConfigSource));

	source->path = pstrdup(path);
	initStringInfo(&source->text);
	if (!read_file(path, &source->text, error) || !find_places(source, error))
	{
		config_source_free(source);
		return NULL;
	}
	return source;
}

void
config_source_free(ConfigSource *source)
{
	int			i;

	for (i = 0; i < source->nplaces; i++)
		pfree(source->places[i].path);
	pfree(source->places);
	pfree(source->path);
	pfree(source->text.data);
	pfree(source);
}

const char *
config_source_text(const ConfigSource *source, size_t *len)
{
	*len = source->text.len;
	return source->text.data;
}
