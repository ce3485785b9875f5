/*-------------------------------------------------------------------------
 *
 * manage_tls.h
 *		The section "manage.tls" of the configuration: TLS, and clients who log in by
 *		their certificates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MANAGE_TLS_H
#define TWT_MANAGE_TLS_H

#include "web/http_tls.h"
#include "web/person_entry.h"

typedef struct TlsConfig
{
	char	   *certificate_file;	/* NULL: no TLS */
	char	   *key_file;
	char	   *client_ca_file; /* NULL: clients have no certificates */
	PersonEntry **clients;		/* NULL-terminated; NULL: none */
	int			nclients;
	HttpTls    *tls;			/* the files, read; NULL: no TLS */
} TlsConfig;

extern const Section tls_section;

#endif							/* TWT_MANAGE_TLS_H */
