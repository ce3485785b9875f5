/*-------------------------------------------------------------------------
 *
 * web_health.h
 *		The health of twtasks-web.
 *
 *		from: http.h			to: results.h, to_do.h
 *
 *	 GET /health	200, or 503 while the database is away, or silent to results
 *					or to the requests of any role.  Its member "roles" has the
 *					trouble of a GRANT that is missing, and leaves the status: results
 *					go on
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WEB_HEALTH_H
#define TWT_WEB_HEALTH_H

#include "web/person.h"
#include "web/results.h"
#include "web/to_do.h"

typedef struct WebHealth WebHealth;

extern WebHealth *web_health_open(Http *http, const Results *results, const ToDo *to_do,
								  const Persons *persons);
extern void web_health_close(WebHealth *health);

#endif							/* TWT_WEB_HEALTH_H */
