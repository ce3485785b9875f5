/*-------------------------------------------------------------------------
 *
 * zookeeper_options.h
 *		How to reach ZooKeeper: the section "zookeeper" of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ZOOKEEPER_OPTIONS_H
#define TWT_ZOOKEEPER_OPTIONS_H

#include "options/log_options.h"
#include "options/options.h"

typedef struct ZooKeeperConfig
{
	char	  **servers;		/* HOST:PORT; NULL: none given */
	int			nservers;
	char	   *group;			/* the nodes among which one leads */
	char	   *digest_file;	/* file with USER:PASSWORD; NULL: open to
								 * anybody */
	int64		session_us;		/* requested; the server may change it */
	int64		fallback_us;	/* silence after which PostgreSQL chooses the
								 * leader */
} ZooKeeperConfig;

/* Describes the options of a ZooKeeperConfig. */
extern const Section zookeeper_section;

/*
 * Returns the hello of twtasks-zookeeper (workers/zookeeper/zk_settings.h), palloc'd.
 * Returns NULL, after options_fail(), if servers or group are missing, or the program
 * refuses the hello or is missing itself.  A settle function calls it.
 */
extern char *zookeeper_line(const ZooKeeperConfig *config, const char *node,
							const LogConfig *log, const Place *place) MUSTCHECK;

#endif							/* TWT_ZOOKEEPER_OPTIONS_H */
