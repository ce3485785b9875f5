#include "base/port.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "options/hello.h"
#include "process/bare.h"
#include "options/options.h"

/* The time for the check of a program; a reload waits for it on a thread. */
#define CHECK_US SECONDS_TO_US(20)

/* The time between two looks at it. */
#define LOOK_MS 2

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

static void
add_settings(json_t *settings, const Section *told, const void *target)
{
	for (int i = 0; i < told->noptions; i++)
	{
		const Option *option = &told->options[i];
		json_t	   *value = value_json(option, (const char *) target + option->offset);

		if (value != NULL)
			json_object_set_new(settings, option->name, value);
	}
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

json_t *
hello_settings(const Section *told, const void *target)
{
	json_t	   *settings = json_object();

	add_settings(settings, told, target);
	return settings;
}

char *
hello_make(const char *node, json_t *given, const Section *told, const void *target)
{
	json_t	   *settings = given != NULL ? given : json_object();
	json_t	   *hello = json_object();

	add_settings(settings, told, target);

	json_object_set_new(hello, "hello", json_integer(1));
	json_object_set_new(hello, "node", json_string(node));
	json_object_set_new(hello, "settings", settings);
	return take_text(hello);
}

void
hello_add(char **hello, const char *name, int value)
{
	int			len = (int) strlen(*hello) - 1;
	char	   *text = psprintf("%.*s,\"%s\":%d}", len, *hello, name, value);

	pfree(*hello);
	*hello = text;
}

/*
 * Returns the pid, or -1 with errno.  This may be a thread beside the loop, which
 * alone may use spawn.h; so between fork() and execve() nothing may allocate.
 */
static pid_t
start(const char *path, const char *use, const int files[2])
{
	static char check[] = "--check";
	char	   *argv[] = {unconstify(char *, path), check, NULL, NULL};
	pid_t		self = getpid();
	pid_t		pid;

	if (use != NULL)
	{
		argv[1] = unconstify(char *, use);
		argv[2] = check;
	}
	if (access(path, X_OK) != 0)
		return -1;
	pid = fork();
	if (pid == 0)
		bare_become(argv, files[0], files[1], self);
	return pid;
}

/*
 * Looks until the program has ended, or kills it at the deadline.  False: it was
 * killed.  The reaper of orphans may have reaped it before: its status is 0 then.
 * A pidfd to wait for would be refused while descriptors are short.
 */
static bool
wait_for_end(pid_t pid, int *status)
{
	int64		end_us = loop_now_us(NULL) + CHECK_US;
	pid_t		ended;

	*status = 0;
	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && loop_now_us(NULL) < end_us)
		(void) poll(NULL, 0, LOOK_MS);
	if (ended != 0)
		return true;
	(void) kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return false;
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
	int			files[2] = {bare_input(hellos), memfd_create("answers", MFD_CLOEXEC)};
	char	   *answers = NULL;
	pid_t		pid = files[0] < 0 || files[1] < 0 ? -1 : start(path, use, files);
	bool		is_misplaced = pid < 0 && (errno == ENOENT || errno == EACCES);
	int			status;

	if (pid < 0)
		*reason = psprintf("could not execute \"%s\": %m", path);
	else if (!wait_for_end(pid, &status))
		*reason = psprintf("\"%s --check\" did not end within %d seconds", path,
						   (int) (CHECK_US / SECONDS_TO_US(1)));
	else if (WIFSIGNALED(status))
		*reason = psprintf("\"%s --check\" was ended by signal %d", path, WTERMSIG(status));
	else
		answers = take_answers(files[1]);
	for (int i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	errno = is_misplaced ? ENOENT : EAGAIN;
	return answers;
}
