/*-------------------------------------------------------------------------
 *
 * program.h
 *		What all our programs do alike: arguments, exit statuses, a clean start.
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
	PROGRAM_CHECK,				/* say whether the configuration is right */
	PROGRAM_PRINT				/* print the configuration in force */
} ProgramMode;

typedef struct Arguments
{
	const char *config_path;
	ProgramMode mode;
} Arguments;

/*
 * Reads the arguments of the program that usage describes.  False: the process
 * must end with *status, and the message has been printed.
 */
extern bool program_read_arguments(int argc, char **argv, const char *usage,
								   Arguments *arguments, int *status) MUSTCHECK;

/*
 * Opens closed standard descriptors; call it first.  Otherwise the first file
 * that the program opens would become its stderr and receive the log.
 */
extern void program_open_standard_files(void);

/* No core files: memory may hold secrets.  No death by a broken pipe. */
extern void program_prepare(void);

#endif							/* TWT_PROGRAM_H */
