/*-------------------------------------------------------------------------
 *
 * worker_settings.h
 *		The settings of a worker in the configuration file: any mapping.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_SETTINGS_H
#define TWT_WORKER_SETTINGS_H

#include "options/source.h"

/*
 * Returns the mapping as the text of a JSON object, palloc'd.  Plain words
 * that JSON knows (numbers, true, false, null) keep their type; all else is
 * text.
 */
extern char *worker_settings_json(Source *source, const yaml_node_t *node);

#endif							/* TWT_WORKER_SETTINGS_H */
