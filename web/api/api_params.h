/*-------------------------------------------------------------------------
 *
 * api_params.h
 *		The parameters of a request, judged by the row of its route.
 *
 *		from: api_route.h			to: api_body.h, api_value.h
 *
 * A request may have no parameter that its route does not know: a mistyped filter
 * must not select everything.  The text of a number goes to the database as it
 * came, since money must keep its digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_PARAMS_H
#define TWT_API_PARAMS_H

#include "web/api/api_value.h"
#include "web/api/problem.h"

/*
 * Reads and judges the parameters.  Returns NULL, or the problem, and then sets
 * *detail, palloc'd.  Clear the values in any case.
 */
extern const Problem *api_params_read(const ApiRoute *route, const HttpRequest *request,
									  ApiValues *values, char **detail) MUSTCHECK;

#endif							/* TWT_API_PARAMS_H */
