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
 * Opens closed standard descriptors; call it first.  Otherwise the first file
 * that the program opens would become its stderr and receive the log.
 */
extern void program_open_standard_files(void);

/* Prevents core files, since memory may hold secrets, and death by SIGPIPE. */
extern void program_prepare(void);

#endif							/* TWT_PROGRAM_H */
