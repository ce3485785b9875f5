/*-------------------------------------------------------------------------
 *
 * variables.h
 *		The environment variables that a handler gives to its programs.
 *
 *		from: execute_command.c, execute_worker.c		to: secret_file.h
 *
 * The option env names variables of the sidecar, and env_file a file of
 * NAME=VALUE lines.  Values may be secrets: they stand in no option, so
 * nothing prints or logs them.  Both are read with the configuration, so a
 * reload reads them again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_VARIABLES_H
#define TWT_VARIABLES_H

#include "config/config.h"

/* For settle functions: sets config->variables. */
extern bool variables_settle(HandlerConfig *config, const Place *place) MUSTCHECK;

/* For release functions of HandlerConfig. */
extern void variables_release(void *target);

/* Options for kinds that settle and release variables. */
#define HANDLER_ENV \
	{ \
		"env", OPTION_WORDS, offsetof(HandlerConfig, env), \
		.min = 1, .max = 1000, .check = variables_check_name, \
		.help = "variables that the processes get from the sidecar's environment, by name" \
	}, \
	{ \
		"env_file", OPTION_TEXT, offsetof(HandlerConfig, env_file), \
		.min = 1, .max = 4095, .check = options_check_path, \
		.help = "file with more variables, one NAME=VALUE per line" \
	}

/* Returns what is wrong with the name of a variable, or NULL. */
extern const char *variables_check_name(const char *name);

#endif							/* TWT_VARIABLES_H */
