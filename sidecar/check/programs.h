/*-------------------------------------------------------------------------
 *
 * programs.h
 *		Handlers whose program is missing.
 *
 *		from: faults.c, config_check.c			to: base/blocking.h, spawn.h
 *
 * A program may be on a dead mount, so a thread looks for the ones of a sidecar
 * that runs.  A list of faults has one palloc'd text for each handler of the
 * configuration; NULL: its program is there, or it has none.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PROGRAMS_H
#define TWT_PROGRAMS_H

#include "base/blocking.h"
#include "config/config.h"

/* Returns the faults, palloc'd.  It may block, so the loop never calls it. */
extern char **programs_faults(const Config *config) MUSTCHECK;

/* Takes the faults. */
typedef void (*ProgramsFn) (void *arg, char **list);

/* Calls fn once, later, on the loop.  NULL: no thread can be started. */
extern Blocking *programs_look(Loop *loop, const Config *config, ProgramsFn fn, void *arg) MUSTCHECK;

#endif							/* TWT_PROGRAMS_H */
