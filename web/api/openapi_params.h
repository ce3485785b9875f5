/*-------------------------------------------------------------------------
 *
 * openapi_params.h
 *		The parameters of a route, as its description has them.
 *
 *		from: openapi.c			to: api.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPENAPI_PARAMS_H
#define TWT_OPENAPI_PARAMS_H

#include <jansson.h>

#include "web/api/api_route.h"

/* The array "parameters": of the path, of the query, and If-Match. */
extern json_t *openapi_parameters(const ApiRoute *route);

/* The object "requestBody"; NULL: the route takes no body. */
extern json_t *openapi_body(const ApiRoute *route);

#endif							/* TWT_OPENAPI_PARAMS_H */
