/*-------------------------------------------------------------------------
 *
 * program.h
 *		Common parts of all our programs: arguments, exit statuses, a clean
 *		start.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PROGRAM_H
#define TWT_PROGRAM_H

typedef enum ExitCode
{
	EXIT_FINE = 0,
	EXIT_BAD_ARGUMENTS = 2,
	EXIT_BAD_CONFIG = 3,
	EXIT_NO_RESOURCES = 4
} ExitCode;

typedef enum ProgramMode
{
	PROGRAM_RUN,
	PROGRAM_CHECK,				/* report whether the configuration is valid */
	PROGRAM_PRINT				/* print the configuration in force */
} ProgramMode;

typedef struct Arguments
{
	const char *config_path;
	ProgramMode mode;
} Arguments;

/*
 * Reads the arguments of the program that usage describes.  Returns false,
 * after printing a message, if the process must end with *status.
 */
extern bool program_read_arguments(int argc, char **argv, const char *usage,
								   Arguments *arguments, int *status) MUSTCHECK;

/*
 * Call it first.  Opens closed standard descriptors: otherwise the first file
 * that the program opens would become its stderr and receive the log.  Lets
 * libraries end the process when memory is out, as palloc() does.  Prevents core files,
 * since memory may hold secrets.
 */
extern void program_begin(void);

/* For libraries that return failures instead: logs the reason, and exits. */
extern void program_out_of_memory(const char *subject) __attribute__((noreturn));

/*
 * Prevents death by SIGPIPE.  Lets the kernel reap orphans, for programs without
 * children.
 */
extern void program_prepare(void);

/*
 * Whether the kernel gives this process the orphans below it, as it does to the
 * first process of a container.
 */
extern bool program_gets_orphans(void);

/*
 * Ends the process at once, after it wrote what stdout and stderr hold.  Use it where
 * threads may run, ours that nobody waits for or those of libraries: exit() would free
 * under them what they use.
 */
extern void program_exit(int status) __attribute__((noreturn));

/* Raises the limit of open descriptors as far as we may. */
extern void program_raise_descriptors(void);

#endif							/* TWT_PROGRAM_H */
