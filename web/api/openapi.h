/*-------------------------------------------------------------------------
 *
 * openapi.h
 *		The description of the management API, made of its table of routes.
 *
 *		from: api_route.h, web/api/schemas*.json		to: http.h
 *
 *	 GET /api/v1/openapi.json	OpenAPI 3.1, for everybody
 *
 * The member x-role of an operation says which role of a person it wants, and
 * x-seconds how long one answer serves all who ask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPENAPI_H
#define TWT_OPENAPI_H

#include "web/http.h"

typedef struct OpenApi OpenApi;

/* The description as text, palloc'd. */
extern char *openapi_text(void);

extern OpenApi *openapi_open(Http *http);
extern void openapi_close(OpenApi *openapi);

#endif							/* TWT_OPENAPI_H */
