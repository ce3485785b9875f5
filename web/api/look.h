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

/*
 * How long an answer serves all who ask.  Pages ask at the same instants, which are
 * 2 s apart for the first page and 5 s or more for the others.  So an answer must be
 * too old at the next instant, and still serve those who come late to this one.
 */
#define LOOK_FIRST_PAGE_US 1500000
#define LOOK_LIST_US 2000000
#define LOOK_COSTLY_US 4000000

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
