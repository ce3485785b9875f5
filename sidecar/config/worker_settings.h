/*-------------------------------------------------------------------------
 *
 * worker_settings.h
 *		The settings that the configuration file has for a worker: any mapping.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_SETTINGS_H
#define TWT_WORKER_SETTINGS_H

#include "config/source.h"

/*
 * The mapping as the text of a JSON object, palloc'd.  Plain words that JSON
 * knows (numbers, true, false, null) are these; all else is text.
 */
extern char *worker_settings_json(Source *source, const yaml_node_t *node);

#endif							/* TWT_WORKER_SETTINGS_H */
