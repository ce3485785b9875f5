/*-------------------------------------------------------------------------
 *
 * json_value.h
 *		The text of a JSON value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JSON_VALUE_H
#define TWT_JSON_VALUE_H

#include "utils/jsonb.h"

/* A string without its quotes; all else as JSON.  In the current context. */
extern char *json_value_text(JsonbValue *value);

#endif							/* TWT_JSON_VALUE_H */
