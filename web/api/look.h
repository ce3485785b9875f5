/*-------------------------------------------------------------------------
 *
 * look.h
 *		Routes that read: rows of the API's table.
 *
 *		from: web/api/api_route.h		to: web/api/api_tables.c
 *
 * No answer has what a task carries.  Each is bounded: by a limit of 1 to 200 items
 * with a cursor for the next ones, or by a number in its statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOK_H
#define TWT_LOOK_H

#include "web/api/api_route.h"

/* The last parameters of a list. */
#define LOOK_CURSOR {"cursor", API_QUERY, API_TEXT, false, "The cursor of the page before"}
#define LOOK_LIMIT {"limit", API_QUERY, API_INTEGER, false, "At most so many items; 50 without it", .min = 1, .max = 200}

extern const ApiTable api_look_tasks;	/* tasks, errors, unknown outcomes */
extern const ApiTable api_look_load;	/* the first page, types */
extern const ApiTable api_look_rules;	/* limits, policies, schedules and
										 * others */
extern const ApiTable api_look_past;	/* incidents, audits */
extern const ApiTable api_look_more;	/* the other extensions */

#endif							/* TWT_LOOK_H */
