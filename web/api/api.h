/*-------------------------------------------------------------------------
 *
 * api.h
 *		The management API, whose routes are the tables of api_route.h.
 *
 *		from: http.h, person.h			to: pool.h, api_route.h
 *
 * Reads and changes have sessions of their own, so changes that wait for a lock hold
 * up no page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_H
#define TWT_API_H

#include "base/loop.h"
#include "web/http.h"
#include "web/person.h"

typedef struct Api Api;

/*
 * Makes the routes, for the persons.  postgres: see web_config.h.  The
 * configuration stays the caller's until api_set_config() or api_close().
 */
extern Api *api_open(Loop *loop, const char *postgres, const ManageConfig *config,
					 const Persons *persons, Http *http);
extern void api_set_config(Api *api, const ManageConfig *config);

/* Appends figures of answers from memory, in the text format of Prometheus. */
extern void api_write_counts(const Api *api, StringInfo out);

/* Answers all requests, and takes no more.  Call it before http_close(). */
extern void api_stop(Api *api);

/* Call it after http_close(), which looks at the routes. */
extern void api_close(Api *api);

#endif							/* TWT_API_H */
