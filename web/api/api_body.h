/*-------------------------------------------------------------------------
 *
 * api_body.h
 *		The object in the body of a request, as texts for its parameters.
 *
 *		from: api_params.c			to: jansson, json_member.h
 *
 * jansson finds the body valid and decodes its strings.  The texts of all other
 * values are those of the body, since jansson would round numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_BODY_H
#define TWT_API_BODY_H

#include "web/api/api_value.h"

/* Sets the values that the body has.  Returns NULL, or its fault, palloc'd. */
extern char *api_body_read(const ApiRoute *route, const HttpRequest *request,
						   ApiValues *values) MUSTCHECK;

#endif							/* TWT_API_BODY_H */
