/*-------------------------------------------------------------------------
 *
 * worker_settings.h
 *		The settings that the configuration file has for a worker: any mapping.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_SETTINGS_H
#define TWT_WORKER_SETTINGS_H

#include "config/config_source.h"

/*
 * Sets *json to the option "settings" of the handler with that number, as the
 * text of a JSON object (palloc'd), or to NULL if it has none.  Plain words that
 * JSON knows (numbers, true, false, null) are these; all else is text.  Returns
 * NULL, or what is wrong with it.
 */
extern const char *worker_settings_read(const ConfigSource *source, int handler,
										char **json) MUSTCHECK;

#endif							/* TWT_WORKER_SETTINGS_H */
