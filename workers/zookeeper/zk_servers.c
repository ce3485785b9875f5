/*-------------------------------------------------------------------------
 *
 * zk_servers.c
 *		The addresses of ZooKeeper's servers, without waiting for them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/address.h"
#include "pg/lookup.h"
#include "workers/zookeeper/zk_servers.h"

typedef struct Server
{
	ZkServers  *all;
	Address		address;
	Lookup	   *lookup;			/* NULL: it has answered */
} Server;

struct ZkServers
{
	Loop	   *loop;
	Server	   *servers;
	int			nservers;
	int			nwaiting;
	StringInfoData addresses;
	char	   *error;
	LoopTimer  *timer;			/* for when no lookup could be started */
	ZkServersFn fn;
	void	   *arg;
};

static void
free_servers(ZkServers *all)
{
	pfree(all->servers);
	pfree(all->addresses.data);
	if (all->error != NULL)
		pfree(all->error);
	loop_timer_free(all->timer);
	pfree(all);
}

static void
report(void *arg)
{
	ZkServers  *all = arg;

	all->fn(all->arg, all->addresses.len > 0 ? all->addresses.data : NULL, all->error);
	free_servers(all);
}

static void
set_error(ZkServers *all, const char *error)
{
	if (all->error != NULL)
		pfree(all->error);
	all->error = pstrdup(error);
}

static void
add_address(ZkServers *all, const char *address, int len, int port)
{
	bool		is_six = memchr(address, ':', len) != NULL;

	appendStringInfo(&all->addresses, "%s%s%.*s%s:%d", all->addresses.len > 0 ? "," : "",
					 is_six ? "[" : "", len, address, is_six ? "]" : "", port);
}

static void
on_found(void *arg, const char *addresses, const char *error)
{
	Server	   *server = arg;
	ZkServers  *all = server->all;

	server->lookup = NULL;
	if (addresses == NULL)
		set_error(all, error);
	while (addresses != NULL && *addresses != '\0')
	{
		int			len = (int) strcspn(addresses, ",");

		add_address(all, addresses, len, server->address.port);
		addresses += len + (addresses[len] == ',');
	}
	if (--all->nwaiting == 0)
		loop_timer_start(all->timer, 0);
}

ZkServers *
zk_servers_find(Loop *loop, char *const *servers, int nservers, ZkServersFn fn, void *arg)
{
	ZkServers  *all = palloc0(sizeof(ZkServers));

	all->loop = loop;
	all->servers = palloc0(nservers * sizeof(Server));
	all->nservers = nservers;
	all->fn = fn;
	all->arg = arg;
	all->timer = loop_timer_new(loop, report, all);
	initStringInfo(&all->addresses);
	for (int i = 0; i < nservers; i++)
	{
		Server	   *server = &all->servers[i];

		server->all = all;
		if (address_split(servers[i], &server->address))
			server->lookup = lookup_start(loop, server->address.host, on_found, server);
		if (server->lookup != NULL)
			all->nwaiting++;
		else
			set_error(all, strerror(errno));
	}
	if (all->nwaiting == 0)
		loop_timer_start(all->timer, 0);
	return all;
}

void
zk_servers_cancel(ZkServers *all)
{
	for (int i = 0; i < all->nservers; i++)
		if (all->servers[i].lookup != NULL)
			lookup_cancel(all->servers[i].lookup);
	free_servers(all);
}
