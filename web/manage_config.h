/*-------------------------------------------------------------------------
 *
 * manage_config.h
 *		The section "manage" of the configuration: the management API, and the
 *		people who may use it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MANAGE_CONFIG_H
#define TWT_MANAGE_CONFIG_H

#include "options/option.h"
#include "web/manage_tls.h"
#include "web/person_proxy.h"
#include "web/person_tokens.h"

typedef struct ManageConfig
{
	char	   *socket;			/* a Unix socket to listen on; NULL: none */
	PersonEntry **socket_users; /* NULL-terminated */
	int			nsocket_users;
	char	   *token_file;		/* NULL: none */
	PersonTokens *tokens;		/* the tokens in it */
	ProxyConfig proxy;
	TlsConfig	tls;
	char	  **hosts;			/* names of this server, or NULL */
	char	   *read_postgres;	/* libpq conninfo for GET; NULL: as the rest */
	int			sessions;
	char	   *trace_url;		/* NULL: none */
} ManageConfig;

extern const Section manage_section;

/* Whether there is a way to log in, so that there is an API. */
extern bool manage_is_wanted(const ManageConfig *config);

/* Whether people can log in by an address, and not by the Unix socket alone. */
extern bool manage_is_for_others(const ManageConfig *config);

#endif							/* TWT_MANAGE_CONFIG_H */
