/*-------------------------------------------------------------------------
 *
 * http_access.h
 *		Who may ask something of the HTTP server, by the headers of a request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_ACCESS_H
#define TWT_HTTP_ACCESS_H

/* Whether Authorization (NULL: none) is "Bearer" and one of the tokens. */
extern bool http_has_token(const char *authorization, char *const *tokens);

/*
 * A page in a browser may make it send requests to us, under a name of its own
 * that it lets lead here; an address, or localhost, as the host is what we are
 * asked by when somebody means us.
 */
extern bool http_is_our_host(const char *host);

/* Whether a request comes from no page (origin NULL), or from one of ours. */
extern bool http_is_our_origin(const char *origin, const char *host);

#endif							/* TWT_HTTP_ACCESS_H */
