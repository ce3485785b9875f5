/*-------------------------------------------------------------------------
 *
 * config_settle.h
 *		What concerns several options at once: the kind of a handler, defaults
 *		that follow from it, patterns that two handlers have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_SETTLE_H
#define TWT_CONFIG_SETTLE_H

#include "config/config_schema.h"

/*
 * Completes a Config that was filled from raw, option by option.  False, with
 * a palloc'd message in *error, when options do not go together.
 */
extern bool config_settle(void *target, const RawSection *raw,
						  const ConfigSource *source, char **error) MUSTCHECK;

#endif							/* TWT_CONFIG_SETTLE_H */
