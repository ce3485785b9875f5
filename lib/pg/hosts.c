/*-------------------------------------------------------------------------
 *
 * hosts.c
 *		The servers that a connection string names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>

#include "options/conninfo.h"
#include "pg/hosts.h"

#define TIMEOUT_US SECONDS_TO_US(10)

/* libpq's own lower bound */
#define TIMEOUT_MIN_US SECONDS_TO_US(2)

/* An option that libpq reads as a list, with one item for each server. */
typedef struct List
{
	const char *keyword;
	char	  **items;
	int			n;				/* 0: not given */
} List;

enum
{
	HOST,
	HOSTADDR,
	PORT,
	NLISTS
};

struct Hosts
{
	PQconninfoOption *options;
	List		lists[NLISTS];
	int			n;				/* 1 also when libpq will reject the lists */
};

static const PQconninfoOption *
find(const Hosts *hosts, const char *keyword)
{
	for (PQconninfoOption *part = hosts->options;
		 part != NULL && part->keyword != NULL; part++)
		if (strcmp(part->keyword, keyword) == 0)
			return part;
	return NULL;
}

/* A service takes precedence over the environment; only libpq reads it. */
static const char *
option(const Hosts *hosts, const char *keyword)
{
	const PQconninfoOption *part = find(hosts, keyword);
	const PQconninfoOption *service = find(hosts, "service");

	if (part == NULL || part->val != NULL || part->envvar == NULL ||
		service->val != NULL || getenv(service->envvar) != NULL)
		return part == NULL ? NULL : part->val;
	return getenv(part->envvar);
}

static void
split(List *list, const char *keyword, const char *value)
{
	list->keyword = keyword;
	if (value == NULL || *value == '\0')
		return;
	list->n = 1;
	for (const char *c = value; *c != '\0'; c++)
		list->n += *c == ',';
	list->items = palloc(list->n * sizeof(char *));
	for (int i = 0; i < list->n; i++)
	{
		size_t		len = strcspn(value, ",");

		list->items[i] = pnstrdup(value, len);
		value += len + 1;
	}
}

static void
clear(List *list)
{
	for (int i = 0; i < list->n; i++)
		pfree(list->items[i]);
	if (list->items != NULL)
		pfree(list->items);
	list->items = NULL;
	list->n = 0;
}

static bool
fits(const List *list, int n)
{
	return list->n == 0 || list->n == n;
}

Hosts *
hosts_new(const char *conninfo)
{
	static const char *const keywords[NLISTS] = {"host", "hostaddr", "port"};
	Hosts	   *hosts = palloc0(sizeof(Hosts));
	List	   *lists = hosts->lists;

	hosts->options = conninfo_parse(conninfo, NULL);
	for (int i = 0; i < NLISTS; i++)
		split(&lists[i], keywords[i], option(hosts, keywords[i]));
	hosts->n = Max(1, Max(lists[HOST].n, lists[HOSTADDR].n));
	if (!fits(&lists[HOST], hosts->n) || !fits(&lists[HOSTADDR], hosts->n) ||
		(lists[PORT].n != 1 && !fits(&lists[PORT], hosts->n)))
	{
		for (int i = 0; i < NLISTS; i++)
			clear(&lists[i]);
		hosts->n = 1;
	}
	return hosts;
}

void
hosts_free(Hosts *hosts)
{
	for (int i = 0; i < NLISTS; i++)
		clear(&hosts->lists[i]);
	PQconninfoFree(hosts->options);
	pfree(hosts);
}

int
hosts_count(const Hosts *hosts)
{
	return hosts->n;
}

int64
hosts_timeout_us(const Hosts *hosts)
{
	const char *text = option(hosts, "connect_timeout");
	long		seconds = text == NULL ? 0 : strtol(text, NULL, 10);

	/* libpq itself refuses a value that is not a number of this size */
	if (seconds <= 0 || seconds > PG_INT32_MAX)
		return TIMEOUT_US;
	return Max(SECONDS_TO_US(seconds), TIMEOUT_MIN_US);
}

/* The server's item; NULL or "" stands for the default. */
static const char *
item_of(const Hosts *hosts, int which, int server)
{
	const List *list = &hosts->lists[which];

	return list->n == 0 ? NULL : list->items[list->n == 1 ? 0 : server];
}

/*
 * Whether the host is neither an address nor a directory of sockets, which
 * need not have a socket file.
 */
static bool
is_name(const char *host)
{
	struct in6_addr address;

	return host != NULL && host[0] != '\0' && host[0] != '/' && host[0] != '@' &&
		inet_pton(AF_INET, host, &address) != 1 &&
		inet_pton(AF_INET6, host, &address) != 1;
}

const char *
hosts_name(const Hosts *hosts, int server)
{
	const char *host = item_of(hosts, HOST, server);
	const char *address = item_of(hosts, HOSTADDR, server);

	if (address != NULL && address[0] != '\0')
		return NULL;
	return is_name(host) ? host : NULL;
}

/* An option's value for the server. */
static const char *
value_of(const Hosts *hosts, const PQconninfoOption *part, int server)
{
	for (int i = 0; i < NLISTS; i++)
	{
		const List *list = &hosts->lists[i];

		if (list->n > 0 && strcmp(list->keyword, part->keyword) == 0)
			return item_of(hosts, i, server);
	}
	return part->val;
}

PGconn *
hosts_connect(const Hosts *hosts, int server, const char *address, const char *application)
{
	/* Later values override; libpq ignores empty ones. */
	static const char *const defaults[][2] = {
		{"target_session_attrs", "primary"}, {"keepalives_idle", "10"},
		{"keepalives_interval", "3"}, {"keepalives_count", "3"},
		{"tcp_user_timeout", "15000"}, {"client_encoding", "UTF8"}
	};
	const char **keywords;
	const char **values;
	int			n = 0;
	int			size = lengthof(defaults) + 3;
	PGconn	   *conn;

	if (hosts->options == NULL)
		return NULL;
	for (PQconninfoOption *part = hosts->options; part->keyword != NULL; part++)
		size++;
	keywords = palloc0(size * sizeof(char *));
	values = palloc0(size * sizeof(char *));
	keywords[n] = "fallback_application_name";
	values[n++] = application;
	for (size_t i = 0; i < lengthof(defaults); i++)
	{
		keywords[n] = defaults[i][0];
		values[n++] = defaults[i][1];
	}
	for (PQconninfoOption *part = hosts->options; part->keyword != NULL; part++)
	{
		keywords[n] = part->keyword;
		values[n++] = value_of(hosts, part, server);
	}
	keywords[n] = "hostaddr";
	values[n++] = address;
	conn = PQconnectStartParams(keywords, values, 0);
	pfree(keywords);
	pfree(values);
	return conn;
}

static const char *
first_given(const char *item, const char *second, const char *third)
{
	if (item != NULL && item[0] != '\0')
		return item;
	return second != NULL && second[0] != '\0' ? second : third;
}

static void
add_address(WireParams *params, const char *host, const char *port, const char *database)
{
	char	   *address = psprintf("%s:%s/%s", host, port, database);

	wire_text(params, address);
	pfree(address);
}

void
hosts_add_addresses(const char *conninfo, const PGconn *conn, WireParams *params)
{
	Hosts	   *hosts = hosts_new(conninfo);

	wire_add_array(params, WIRE_TEXT, 1 + hosts->n);
	add_address(params, PQhost(conn), PQport(conn), PQdb(conn));
	for (int i = 0; i < hosts->n; i++)
		add_address(params,
					first_given(item_of(hosts, HOST, i), item_of(hosts, HOSTADDR, i), PQhost(conn)),
					first_given(item_of(hosts, PORT, i), NULL, PQport(conn)), PQdb(conn));
	hosts_free(hosts);
}
