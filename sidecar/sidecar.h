/*-------------------------------------------------------------------------
 *
 * sidecar.h
 *		The parts of the sidecar put together, from start to orderly end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SIDECAR_H
#define TWT_SIDECAR_H

#include "base/loop.h"
#include "config/config.h"

typedef struct Sidecar Sidecar;

/* Takes ownership of the configuration. */
extern Sidecar *sidecar_open(Loop *loop, Config *config);

/*
 * Applies new slots, timeouts, retries and log levels, and replaces worker
 * processes, since their programs may have changed.  Takes ownership of the
 * configuration.
 */
extern void sidecar_reload(Sidecar *sidecar, Config *config);

/*
 * Lets /health and twtasks.warnings say why the configuration file is not in
 * force; a constant, or NULL: it is.
 */
extern void sidecar_note_config(Sidecar *sidecar, const char *trouble);

/*
 * Begins a drain: starts no new task, and gives running tasks config->drain_us
 * to end.  Then stops the loop.  A second call stops it at once.
 */
extern void sidecar_drain(Sidecar *sidecar);

/*
 * Call it after the loop has stopped.  Ends the tasks that still run and
 * closes everything.
 */
extern void sidecar_free(Sidecar *sidecar);

#endif							/* TWT_SIDECAR_H */
