/*-------------------------------------------------------------------------
 *
 * web_config.h
 *		The configuration file of twtasks-web.
 *
 * The file is read, checked and printed like the sidecar's: see
 * options/options.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WEB_CONFIG_H
#define TWT_WEB_CONFIG_H

#include "notify/notify_options.h"
#include "options/log_options.h"
#include "web/manage_config.h"

/* Tokens that read and answer to-do items as a role of the database. */
typedef struct ToDoConfig
{
	char	   *token_file;
	char	   *role;
	char	  **tokens;			/* the tokens in the file */
} ToDoConfig;

typedef struct WebConfig
{
	char	   *postgres;		/* libpq conninfo or URI */
	int			sessions;		/* the most for each purpose */
	char	   *listen;
	int			connections_of_one; /* the most connections of one address */
	char	  **proxies;		/* networks without that limit, or NULL */
	char	   *token_file;		/* NULL: no token is needed */
	char	  **tokens;			/* the tokens in it, or NULL */
	char	   *metrics_token_file; /* NULL: /metrics takes the tokens above */
	char	  **metrics_tokens; /* the tokens in it, or NULL */
	ToDoConfig **to_do;			/* each token is in one of all files */
	int			nto_do;
	ManageConfig manage;		/* its tokens are in no other file */
	NotifyConfig notify;
	LogConfig	log;
} WebConfig;

/* The whole file, for the functions of options.h. */
extern const Section web_config_section;

#endif							/* TWT_WEB_CONFIG_H */
