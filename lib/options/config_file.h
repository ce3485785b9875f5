/*-------------------------------------------------------------------------
 *
 * config_file.h
 *		The configuration file of a daemon, at its start and at SIGHUP.
 *
 *		from: sidecar/main.c, web/main.c			to: options.h, base/blocking.h
 *
 * At SIGHUP the file is read again, without stopping the loop.  The file or one
 * that it names may be on a dead mount, a directory service may not answer, and
 * a bundled program takes its time to judge its settings.  So a thread reads,
 * and the loop applies what was read.
 *
 * The thread cannot be stopped.  A reload that takes too long is stuck: the log
 * says so once, and its answer is applied when it comes.  Only one thread reads
 * at a time.  A SIGHUP that comes meanwhile starts another reload afterwards,
 * since the thread may have read the file before its last change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_FILE_H
#define TWT_CONFIG_FILE_H

#include "base/loop.h"
#include "base/program.h"
#include "options/options.h"

typedef struct Reload Reload;

typedef struct ConfigFile
{
	const char *usage;			/* --help prints it */
	const Section *section;
	const Section *const *kinds;
	/* Sets the log up as config wants it. */
	void		(*log) (const void *config);
	/* Takes config, which differs only in what a reload can change. */
	void		(*apply) (void *arg, void *config);
	/* Why the file is not in force, a constant; NULL: it is.  May be NULL. */
	void		(*note) (void *arg, const char *trouble);
} ConfigFile;

/*
 * Reads the arguments of the program, and the file.  Returns what was read, to be
 * run or checked.  NULL, after it has said why or printed what was asked for, if
 * the process must end with *status.
 */
extern void *config_file_read(const ConfigFile *file, int argc, char **argv,
							  Arguments *arguments, int *status) MUSTCHECK;

/*
 * Handles SIGHUP from now on; config is in force.  The caller keeps file, path
 * and config, the last until another one is applied.
 */
extern Reload *reload_open(Loop *loop, const ConfigFile *file, const char *path,
						   const void *config, void *arg);

/* Drops what a thread may still read. */
extern void reload_close(Reload *reload);

#endif							/* TWT_CONFIG_FILE_H */
