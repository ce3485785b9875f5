/*-------------------------------------------------------------------------
 *
 * absent.c
 *		The election of a sidecar that was built without ZooKeeper.
 *
 * The configuration refuses "leader: zookeeper" there, so nothing opens it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "zookeeper/election.h"

Election *
election_open(Loop *loop, const ZooKeeperConfig *config, Node *node)
{
	return NULL;
}

void
election_free(Election *election)
{
}
