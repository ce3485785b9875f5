/*-------------------------------------------------------------------------
 *
 * zookeeper_options.h
 *		How to reach ZooKeeper: the section "zookeeper" of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ZOOKEEPER_OPTIONS_H
#define TWT_ZOOKEEPER_OPTIONS_H

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
 * Returns false, after options_fail(), unless servers and group are given, and
 * the digest file, if any, has a digest.  A settle function calls it.
 */
extern bool zookeeper_options_complete(const ZooKeeperConfig *config, const Place *place);

#endif							/* TWT_ZOOKEEPER_OPTIONS_H */
