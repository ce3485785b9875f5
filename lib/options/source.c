#include "base/port.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"
#include "base/text.h"
#include "options/source.h"

#define FILE_MAX_BYTES (1024 * 1024)
#define SHOWN_MAX 400

struct Source
{
	char	   *path;
	yaml_document_t document;
};

/* Lines and columns count from 1. */
typedef struct Position
{
	size_t		line;			/* 0: none */
	size_t		column;
} Position;

static char *
make_message(const char *path, Position position, const char *place,
			 const char *what)
{
	StringInfoData out;

	initStringInfo(&out);
	text_escape_line(&out, path, strlen(path), SHOWN_MAX);
	if (position.line > 0)
		appendStringInfo(&out, ":%zu:%zu", position.line, position.column);
	appendStringInfoString(&out, ": ");
	if (place[0] != '\0')
	{
		text_escape_line(&out, place, strlen(place), SHOWN_MAX);
		appendStringInfoString(&out, ": ");
	}
	appendStringInfoString(&out, what);
	return out.data;
}

static Position
position_of(const yaml_mark_t *mark)
{
	return (Position)
	{
		mark->line + 1, mark->column + 1
	};
}

char *
source_message(const Source *source, const yaml_node_t *node,
			   const char *place, const char *what)
{
	Position	position = {0, 0};

	if (node != NULL)
		position = position_of(&node->start_mark);
	return make_message(source->path, position, place, what);
}

/*
 * Whether the group has our user's name and no other member.  It may then
 * write the file, as it does where the umask is 002.
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

/*
 * Only root and our own user may have written the file, which decides what we
 * run.
 */
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

/*
 * Returns false with errno set; errno is 0 if the file grew too large
 * meanwhile.
 */
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
 * Checks the file that was opened, since the path may lead to another file by
 * now.  O_NONBLOCK lets the opening of a FIFO return at once.
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

static Position
position_at_offset(StringInfo text, size_t offset)
{
	Position	position = {1, 1};

	for (size_t i = 0; i < offset && i < (size_t) text->len; i++)
	{
		position.column++;
		if (text->data[i] == '\n')
			position = (Position)
		{
			position.line + 1, 1
		};
	}
	return position;
}

/*
 * libyaml gives an offset for an unreadable byte, and a mark for other errors.
 */
static char *
syntax_error(const char *path, StringInfo text, const yaml_parser_t *parser)
{
	Position	position = parser->error == YAML_READER_ERROR ?
	position_at_offset(text, parser->problem_offset) :
	position_of(&parser->problem_mark);
	char	   *what;
	char	   *message;

	if (parser->error == YAML_MEMORY_ERROR)
		program_out_of_memory("config");
	what = psprintf("invalid YAML: %s", parser->problem);
	message = make_message(path, position, "", what);
	pfree(what);
	return message;
}

static void
start_parser(yaml_parser_t *parser, const StringInfoData *text)
{
	if (!yaml_parser_initialize(parser))
		program_out_of_memory("config");
	yaml_parser_set_input_string(parser, (const unsigned char *) text->data, text->len);
}

/* Returns why the event must not be in the file; NULL if it may. */
static const char *
event_fault(const yaml_event_t *event, int *ndocuments)
{
	if (event->type == YAML_ALIAS_EVENT)
		return "aliases are not supported";
	if (event->type == YAML_DOCUMENT_START_EVENT && ++*ndocuments > 1)
		return "the file has more than one document";
	return NULL;
}

/*
 * Refuses aliases before a tree is made: an alias to an outer anchor would make
 * the tree endless.
 */
static bool
check_events(const char *path, StringInfo text, char **error)
{
	yaml_parser_t parser;
	yaml_event_type_t type;
	int			ndocuments = 0;

	start_parser(&parser, text);
	do
	{
		yaml_event_t event;
		const char *fault;

		if (!yaml_parser_parse(&parser, &event))
			*error = syntax_error(path, text, &parser);
		else if ((fault = event_fault(&event, &ndocuments)) != NULL)
			*error = make_message(path, position_of(&event.start_mark), "", fault);
		type = event.type;
		yaml_event_delete(&event);
	} while (*error == NULL && type != YAML_STREAM_END_EVENT);
	yaml_parser_delete(&parser);
	return *error == NULL;
}

static bool
load(Source *source, StringInfo text, char **error)
{
	yaml_parser_t parser;

	if (!check_events(source->path, text, error))
		return false;
	start_parser(&parser, text);
	if (!yaml_parser_load(&parser, &source->document))
		*error = syntax_error(source->path, text, &parser);
	yaml_parser_delete(&parser);
	return *error == NULL;
}

Source *
source_read(const char *path, char **error)
{
	Source	   *source = palloc0(sizeof(Source));
	StringInfoData text;
	bool		is_fine;

	*error = NULL;
	source->path = pstrdup(path);
	initStringInfo(&text);
	is_fine = read_file(path, &text, error) && load(source, &text, error);
	pfree(text.data);
	if (is_fine)
		return source;
	pfree(source->path);
	pfree(source);
	return NULL;
}

void
source_free(Source *source)
{
	yaml_document_delete(&source->document);
	pfree(source->path);
	pfree(source);
}

const yaml_node_t *
source_root(Source *source)
{
	return yaml_document_get_root_node(&source->document);
}

const yaml_node_t *
source_node(Source *source, int number)
{
	return yaml_document_get_node(&source->document, number);
}

const char *
source_text(const yaml_node_t *node)
{
	return (const char *) node->data.scalar.value;
}

bool
source_has_text(const yaml_node_t *node, const char *text)
{
	return node->type == YAML_SCALAR_NODE && strcmp(source_text(node), text) == 0 &&
		strlen(text) == node->data.scalar.length;
}
