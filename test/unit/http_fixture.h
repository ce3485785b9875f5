/*-------------------------------------------------------------------------
 *
 * http_fixture.h
 *		A real HTTP server on the loop of execute_fixture.h, and its clients.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_FIXTURE_H
#define TWT_HTTP_FIXTURE_H

#include "execute_fixture.h"
#include "web/http.h"

typedef struct Server
{
	Http	   *http;			/* NULL: not open */
	int			port;
} Server;

extern Server server;

/* Serves the routes at a free port of 127.0.0.1. */
extern void open_server(char *const *tokens, const HttpRoute *routes, int nroutes, void *arg);
extern void close_server(void);

/* A socket of a new client, which has sent the text. */
extern int	client(const char *text);

/* The same from another address of this machine. */
extern int	client_from(const char *address, const char *text);

/* The same by a Unix socket. */
extern int	local_client(const char *path, const char *text);

extern void send_text(int fd, const char *text);

/* The bytes that came until the end of the stream. */
typedef struct Heard
{
	int			fd;
	char		bytes[4096];
	int			len;
	const char *drips;			/* is sent now and then; NULL: nothing */
	int64		dripped_us;
} Heard;

/* Conditions for run_until() on a Heard. */
extern bool has_ended(void *heard);
extern bool has_line(void *heard);

/* Hears the rest of the stream, of which expected must be a part; closes it. */
extern void expect_end(int fd, const char *drips, const char *expected);

/* The rest of the stream; valid until the next call. */
extern const char *rest_of(int fd);

/* The whole answer to a request with "Connection: close"; valid until the next call. */
extern const char *answer_to(const char *text);

#endif							/* TWT_HTTP_FIXTURE_H */
