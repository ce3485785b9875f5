#include "base/port.h"

#include <jansson.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/hello.h"
#include "options/options.h"

static json_t *
words_json(char *const *words)
{
	json_t	   *list = words != NULL ? json_array() : NULL;

	for (int i = 0; words != NULL && words[i] != NULL; i++)
		json_array_append_new(list, json_string(words[i]));
	return list;
}

static json_t *
settings_json(const char *text)
{
	return text != NULL ? json_loads(text, 0, NULL) : NULL;
}

/* NULL: the option is not set, or is of a type that programs do not get. */
static json_t *
value_json(const Option *option, const void *value)
{
	switch (option->type)
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
		case OPTION_SETTINGS:
			return settings_json(*(char *const *) value);
		case OPTION_CHOICE:
			return json_string(options_choice_name(option->choices, *(const int *) value));
		default:
			return NULL;
	}
}

static json_t *
make_settings(const char *given, const Section *told, const void *target)
{
	json_t	   *settings = given != NULL ? json_loads(given, 0, NULL) : json_object();

	for (int i = 0; i < told->noptions; i++)
	{
		const Option *option = &told->options[i];
		json_t	   *value = value_json(option, (const char *) target + option->offset);

		if (value != NULL)
			json_object_set_new(settings, option->name, value);
	}
	return settings;
}

/* Returns the text of the object, palloc'd, and frees the object. */
static char *
take_text(json_t *object)
{
	char	   *text = json_dumps(object, JSON_COMPACT);
	char	   *copy = pstrdup(text);

	free(text);
	json_decref(object);
	return copy;
}

char *
hello_settings(const char *given, const Section *told, const void *target)
{
	return take_text(make_settings(given, told, target));
}

char *
hello_make(const char *node, const char *settings, const Section *told, const void *handler)
{
	json_t	   *hello = json_object();

	json_object_set_new(hello, "hello", json_integer(1));
	json_object_set_new(hello, "node", json_string(node));
	json_object_set_new(hello, "settings", make_settings(settings, told, handler));
	return take_text(hello);
}

/* Returns an anonymous file with the text, to be read from its start, or -1. */
static int
text_file(const char *text)
{
	int			fd = memfd_create("hellos", MFD_CLOEXEC);
	size_t		len = strlen(text);

	if (fd >= 0 && (write(fd, text, len) != (ssize_t) len || lseek(fd, 0, SEEK_SET) != 0))
	{
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Starts the program with an empty environment.  Returns 0 or an errno. */
static int
start(const char *path, const char *use, int files[2], pid_t *pid)
{
	static char check[] = "--check";
	char	   *argv[] = {unconstify(char *, path), check, NULL, NULL};
	char	   *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	int			error;

	if (use != NULL)
	{
		argv[1] = unconstify(char *, use);
		argv[2] = check;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, files[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, files[1], STDOUT_FILENO);
	error = posix_spawn(pid, path, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Reads everything that the program wrote into the file. */
static char *
take_answers(int fd)
{
	StringInfoData answers;
	char		block[4096];
	ssize_t		n;

	initStringInfo(&answers);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, block, sizeof(block))) > 0)
		appendBinaryStringInfo(&answers, block, n);
	return answers.data;
}

char *
hello_check(const char *path, const char *use, const char *hellos, char **reason)
{
	int			files[2] = {text_file(hellos), memfd_create("answers", MFD_CLOEXEC)};
	char	   *answers = NULL;
	pid_t		pid = 0;
	int			error = files[0] < 0 || files[1] < 0 ? errno : start(path, use, files, &pid);

	errno = error;
	if (error != 0)
		*reason = psprintf("could not execute \"%s\": %m", path);
	else
	{
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		answers = take_answers(files[1]);
	}
	for (int i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	return answers;
}
