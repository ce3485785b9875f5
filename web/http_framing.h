/*-------------------------------------------------------------------------
 *
 * http_framing.h
 *		Requests that a proxy in front may read differently.
 *
 *		from: http_daemon.c			to: libmicrohttpd
 *
 * A proxy sends the requests of many clients over one connection.  If it sees the
 * end of a request elsewhere than we do, one client's bytes become part of another
 * client's request.  So we refuse a request with
 *
 *	 - a line that ends in a bare LF, or a folded line
 *	 - a name that is not a token, as with a space before the colon
 *	 - a control character in a value
 *	 - two headers of a name that may be there once
 *	 - Transfer-Encoding with Content-Length, or other than "chunked"
 *
 * libmicrohttpd reads chunks leniently too, so a connection ends after a request
 * that has any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_FRAMING_H
#define TWT_HTTP_FRAMING_H

struct MHD_Connection;

/*
 * Returns the fault of a request whose headers are there; NULL: none.  method and
 * version are those that libmicrohttpd gives.
 */
extern const char *http_framing_fault(struct MHD_Connection *connection,
									  const char *method, const char *version) MUSTCHECK;

#endif							/* TWT_HTTP_FRAMING_H */
