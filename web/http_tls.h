/*-------------------------------------------------------------------------
 *
 * http_tls.h
 *		TLS of the HTTP server, and certificates of its clients.
 *
 * libmicrohttpd speaks TLS by GnuTLS.  It reads certificate and key once, when it
 * starts.  So that a renewed certificate needs no restart, each new connection gets
 * the credentials in force, and keeps them until it ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_TLS_H
#define TWT_HTTP_TLS_H

typedef struct HttpTls HttpTls;

/*
 * Reads the files (PEM): the certificate with those between it and its root; its
 * key, which is a secret file; and authorities whose certificates clients may show
 * (NULL: none).  Returns NULL with a palloc'd reason if they do not fit.
 */
extern HttpTls *http_tls_read(const char *certificate_file, const char *key_file,
							  const char *client_ca_file, char **reason) MUSTCHECK;

/* One more owner. */
extern HttpTls *http_tls_share(HttpTls *tls);

/* One owner less; NULL is allowed. */
extern void http_tls_free(HttpTls *tls);

/* The texts of the files, which libmicrohttpd reads at its start. */
extern const char *http_tls_certificate(const HttpTls *tls);
extern const char *http_tls_key(const HttpTls *tls);

/* Gives the credentials to a session of GnuTLS that has not begun. */
extern void http_tls_begin(const HttpTls *tls, void *session);

/*
 * The common name in the certificate of the client, palloc'd.  NULL: there is no
 * certificate, it is not good for a client now, or it has not exactly one name.
 */
extern char *http_tls_common_name(void *session);

#endif							/* TWT_HTTP_TLS_H */
