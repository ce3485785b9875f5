/*-------------------------------------------------------------------------
 *
 * variables.c
 *		The environment variables that a handler gives to its programs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/words.h"
#include "execute/variables.h"
#include "options/secret_file.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS "0123456789"

/* A command finds the facts of its task in these. */
static bool
is_fact(const char *name)
{
	return strncmp(name, "TWTASKS_", strlen("TWTASKS_")) == 0 ||
		strcmp(name, "TRACEPARENT") == 0 || strcmp(name, "TRACESTATE") == 0;
}

const char *
variables_check_name(const char *name)
{
	if (strspn(name, LETTERS DIGITS) != strlen(name) || strspn(name, LETTERS) == 0)
		return "a name has letters, digits and underscores, and begins with no digit";
	return is_fact(name) ? "the sidecar sets this variable itself" : NULL;
}

/* Returns the fault of a line of the file, without its value; NULL: there is none. */
static const char *
line_fault(const char *line, char *const *variables)
{
	char	   *name = pnstrdup(line, strcspn(line, "="));
	const char *fault = variables_check_name(name);

	if (line[strlen(name)] == '\0')
		fault = "the line is not NAME=VALUE";
	else if (fault == NULL && words_variable(variables, name) != NULL)
		fault = "the variable is set twice";
	pfree(name);
	return fault;
}

/* After the first n variables. */
static bool
add_lines(const HandlerConfig *config, int n, char *const *lines, const Place *place)
{
	for (int i = 0; lines[i] != NULL; i++)
	{
		const char *fault;

		if (secret_file_is_comment(lines[i]))
			continue;
		fault = line_fault(lines[i], config->variables);
		if (fault != NULL)
			return options_fail(place, "env_file", "line %d of \"%s\": %s", i + 1, config->env_file, fault);
		config->variables[n++] = pstrdup(lines[i]);
	}
	return true;
}

/* Returns their number.  The checker of a configuration may lack variables that the sidecar has. */
static int
add_named(const HandlerConfig *config, const Place *place)
{
	int			n = 0;

	for (int i = 0; config->env != NULL && config->env[i] != NULL; i++)
	{
		const char *value = getenv(config->env[i]);
		char	   *entry = psprintf("env[%d]", i);

		if (value != NULL)
			config->variables[n++] = psprintf("%s=%s", config->env[i], value);
		else
			options_note(place, entry, "the sidecar's environment has no such variable");
		pfree(entry);
	}
	return n;
}

static bool
read_file(const HandlerConfig *config, char ***lines, const Place *place)
{
	char	   *reason = NULL;

	*lines = NULL;
	if (config->env_file == NULL)
		return true;
	*lines = secret_file_read_all(config->env_file, &reason);
	if (*lines == NULL)
		(void) options_fail(place, "env_file", "\"%s\": %s", config->env_file, reason);
	pfree(reason);
	return *lines != NULL;
}

bool
variables_settle(HandlerConfig *config, const Place *place)
{
	char	  **lines;
	bool		is_fine;
	int			n;

	if (!read_file(config, &lines, place))
		return false;
	config->variables = palloc0((words_count(config->env) + words_count(lines) + 1) * sizeof(char *));
	n = add_named(config, place);
	is_fine = lines == NULL || add_lines(config, n, lines, place);
	secret_file_forget(lines);
	return is_fine;
}

void
variables_release(void *target)
{
	secret_file_forget(((HandlerConfig *) target)->variables);
}
