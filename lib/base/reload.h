/*-------------------------------------------------------------------------
 *
 * reload.h
 *		Reads a configuration file again at SIGHUP, without stopping the loop.
 *
 *		from: sidecar/main.c, web/main.c			to: base/blocking.h
 *
 * The file or one that it names may be on a dead mount, a directory service
 * may not answer, and a bundled program takes its time to judge its settings.
 * So a thread reads, and the loop applies what was read.
 *
 * The thread cannot be stopped.  A reload that takes too long is stuck: the log
 * says so once, and its answer is applied when it comes.  Only one thread reads
 * at a time.  A SIGHUP that comes meanwhile starts another reload afterwards,
 * since the thread may have read the file before its last change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RELOAD_H
#define TWT_RELOAD_H

#include "base/loop.h"

typedef struct Reload Reload;

typedef struct ReloadTarget
{
	/* On a thread: reads and checks the file.  As options_read(). */
	void	   *(*read) (const char *path, char **error);
	/* Frees what was read; on any thread. */
	void		(*discard) (void *config);
	/* Takes config.  False, after it has logged why, if it refuses it. */
	bool		(*apply) (void *arg, void *config);
	/* Why the file is not in force, a constant; NULL: it is.  May be NULL. */
	void		(*note) (void *arg, const char *trouble);
} ReloadTarget;

/* Handles SIGHUP from now on.  The caller keeps path and target. */
extern Reload *reload_open(Loop *loop, const char *path, const ReloadTarget *target, void *arg);

/* Drops what a thread may still read. */
extern void reload_close(Reload *reload);

#endif							/* TWT_RELOAD_H */
