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

/* Takes the configuration. */
extern Sidecar *sidecar_open(Loop *loop, Config *config);

/*
 * Takes other figures: slots, timeouts, retries, levels; and lets worker
 * processes be replaced, since their programs may be others.  An option that
 * needs new connections or processes is logged and left for a restart.  Takes
 * the configuration.
 */
extern void sidecar_reload(Sidecar *sidecar, Config *config);

/*
 * Begins the orderly end: nothing new is started, what runs may end within
 * config->drain_us; then, or at the second call at once, the loop is stopped.
 */
extern void sidecar_drain(Sidecar *sidecar);

/* After the loop has stopped: ends what still runs, closes everything. */
extern void sidecar_free(Sidecar *sidecar);

#endif							/* TWT_SIDECAR_H */
