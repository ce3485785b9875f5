/*-------------------------------------------------------------------------
 *
 * zk_settings.h
 *		How to reach ZooKeeper, as the sidecar says it.
 *
 *		from: the hello			to: candidacy.h
 *
 *	{"hello": 1, "node": NAME, "settings":
 *		{"servers": ["HOST:PORT", ...], "group": GROUP, "session": SECONDS,
 *		 "digest_file": PATH, "format": "text" or "json", "level": "info"}}
 *
 * Only digest_file may be missing.  It names a file with USER:PASSWORD, so the
 * secret is neither in the line nor in the environment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ZK_SETTINGS_H
#define TWT_ZK_SETTINGS_H

#include "options/log_options.h"
#include "workers/lib/worker_fault.h"

typedef struct ZkSettings
{
	char	   *node;
	char	  **servers;		/* HOST:PORT */
	int			nservers;
	char	   *group;			/* the nodes among which one leads */
	char	   *digest_file;	/* NULL: anybody may change the election */
	int64		session_us;		/* requested; the server may change it */
	LogConfig	log;
} ZkSettings;

/* Reads the line, and tries to read the digest.  Returns NULL on failure. */
extern ZkSettings *zk_settings_new(const char *line, WorkerFault *fault) MUSTCHECK;
extern void zk_settings_free(ZkSettings *settings);

#endif							/* TWT_ZK_SETTINGS_H */
