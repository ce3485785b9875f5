/*-------------------------------------------------------------------------
 *
 * worker_hello.h
 *		The hello of a sidecar, and the options of a bundled program.
 *
 *		from: helper_main.h		to: settings of the program
 *
 * The hello has all settings of a program, which accepts or refuses them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_HELLO_H
#define TWT_WORKER_HELLO_H

#include "workers/lib/worker_fault.h"

typedef struct HelloProgram
{
	const char *name;
	const char *usage;

	/* Reads the settings of a hello; returns NULL after setting the fault. */
	void	   *(*settings_new) (const char *hello, WorkerFault *fault);
	void		(*settings_free) (void *settings);
} HelloProgram;

/* Defines settings_new() and settings_free() of the functions of a module. */
#define HELLO_SETTINGS(module) \
	static void * \
	settings_new(const char *hello, WorkerFault *fault) \
	{ \
		return module##_new(hello, fault); \
	} \
	static void \
	settings_free(void *settings) \
	{ \
		module##_free(settings); \
	} \
	extern int	no_such_variable

/*
 * Reads a hello, and appends the answer: {"ready":1}, or {"error":...,"setting":...}.
 * Returns the settings; NULL: it refuses them.
 */
extern void *worker_hello_read(const HelloProgram *program, const char *hello, StringInfo out);

/*
 * Does what the arguments of the program say.  With --check it only answers each
 * hello of its input, by which the sidecar checks a configuration.  Returns the exit
 * status.
 */
extern int	worker_hello_options(const HelloProgram *program, int argc, char **argv);

#endif							/* TWT_WORKER_HELLO_H */
