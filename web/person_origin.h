/*-------------------------------------------------------------------------
 *
 * person_origin.h
 *		Requests that a foreign web page makes a browser send.
 *
 *		from: person.h			to: http.h
 *
 * A browser adds a token to no request, but its certificate and its login at a
 * proxy to every one.  It tells the page that asked:
 *
 *	 Origin				with each change; GET only across origins
 *	 Sec-Fetch-Site		with every request, to addresses with TLS or of this machine
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_ORIGIN_H
#define TWT_PERSON_ORIGIN_H

#include "web/http.h"

/*
 * Whether there is an Origin that is neither the host of the request nor one of
 * the hosts, NULL-terminated or NULL.
 */
extern bool person_origin_is_foreign(const HttpRequest *request, char *const *hosts);

/*
 * Returns the fault of a change that a foreign page could have made a browser send
 * for a person who is logged in; NULL: none.  must_tell: a browser alone sends such
 * requests, so that one which tells no page is refused.
 */
extern const char *person_forgery_fault(const HttpRequest *request, bool must_tell);

#endif							/* TWT_PERSON_ORIGIN_H */
