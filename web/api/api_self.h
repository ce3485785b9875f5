/*-------------------------------------------------------------------------
 *
 * api_self.h
 *		GET /me: the person, and what this server has for the person.
 *
 *		from: api.c
 *
 * The parameters API_SELF of a route come from this program: name and roles of the
 * person, version of the program, and trace_url of its configuration.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_SELF_H
#define TWT_API_SELF_H

#include "web/api/api_value.h"

extern const ApiTable api_self;

extern void api_self_fill(const ApiRoute *route, const ManageConfig *config,
						  const Person *person, ApiValues *values);

#endif							/* TWT_API_SELF_H */
