/*-------------------------------------------------------------------------
 *
 * reload.h
 *		What of a new configuration a running sidecar can take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RELOAD_H
#define TWT_RELOAD_H

#include "config.h"

/*
 * Whether the two differ only in figures (slots, times, retries, rules,
 * log), which can be changed at any moment; not in what was opened or started
 * with them.
 */
extern bool reload_is_possible(const Config *now, const Config *then);

#endif							/* TWT_RELOAD_H */
