#include "base/port.h"

#include <arpa/inet.h>

#include "base/log.h"
#include "web/person_failures.h"

#define MINUTE_US SECONDS_TO_US(60)

/* A page asks again sooner, so a role that is still lacking is not forgotten. */
#define FORGET_US SECONDS_TO_US(90)

/* Addresses that are remembered; a new one replaces the one that began first. */
#define ADDRESSES_MAX 64

typedef struct Failing
{
	Peer		address;
	int64		since_us;		/* its minute began; 0: none */
	int			n;
} Failing;

/* Roles that have a line of their own within a minute; more have none. */
#define ROLES_MAX 16

/* Lines of one kind: the first one at once, and then one a minute. */
typedef struct Line
{
	int64		logged_us;		/* 0: never */
	int			n;				/* since then */
} Line;

typedef struct RoleLine
{
	char		role[64];
	Line		line;
} RoleLine;

struct PersonFailures
{
	Loop	   *loop;
	Failing		failing[ADDRESSES_MAX];
	Line		tokens;
	Line		headers;
	Line		users;
	RoleLine	roles[ROLES_MAX];
	int64		lacked_us;		/* a role was lacking; 0: never */
};

/* ---- the log ---- */

/* Whether a line is due; *n: failures for it. */
static bool
is_due(const PersonFailures *failures, Line *line, int *n)
{
	int64		now = loop_now_us(failures->loop);

	line->n++;
	if (line->logged_us != 0 && now - line->logged_us < MINUTE_US)
		return false;
	*n = line->n;
	line->n = 0;
	line->logged_us = now;
	return true;
}

/* Returns text: an address, or a user of the system. */
static const char *
peer_text(const HttpPeer *peer, char *text, size_t len)
{
	static const uint8 ipv4[12] = {[10] = 0xff,[11] = 0xff};

	if (peer->is_unix)
		snprintf(text, len, "the system user with uid %u", (unsigned) peer->user);
	else if (memcmp(peer->address.bytes, ipv4, sizeof(ipv4)) == 0)
		(void) inet_ntop(AF_INET, peer->address.bytes + sizeof(ipv4), text, len);
	else
		(void) inet_ntop(AF_INET6, peer->address.bytes, text, len);
	return text;
}

void
person_failures_note_header(PersonFailures *failures, const HttpPeer *peer, const char *header)
{
	char		text[100] = "";
	int			n;

	if (is_due(failures, &failures->headers, &n))
		log_line(TWT_LOG_WARN, "person", "refused %d requests with the header %s, the last one from %s,"
				 " which manage.proxy.from does not list", n, header, peer_text(peer, text, sizeof(text)));
}

void
person_failures_note_user(PersonFailures *failures, const HttpPeer *peer)
{
	char		text[100] = "";
	int			n;

	if (is_due(failures, &failures->users, &n))
		log_line(TWT_LOG_WARN, "person", "refused %d requests by the Unix socket, the last one of %s,"
				 " whom manage.socket_users does not list", n, peer_text(peer, text, sizeof(text)));
}

/* The line of the role, or else the one that was logged first. */
static RoleLine *
role_line(PersonFailures *failures, const char *role)
{
	RoleLine   *oldest = &failures->roles[0];

	for (int i = 0; i < ROLES_MAX; i++)
	{
		RoleLine   *found = &failures->roles[i];

		if (strcmp(found->role, role) == 0)
			return found;
		if (found->line.logged_us < oldest->line.logged_us)
			oldest = found;
	}
	return oldest;
}

/* Another role is news at once. */
void
person_failures_note_role(PersonFailures *failures, const char *role, const char *login)
{
	RoleLine   *found = role_line(failures, role);
	const char *quote = login == NULL ? "" : "\"";
	int			n;

	failures->lacked_us = loop_now_us(failures->loop);
	if (!is_due(failures, &found->line, &n))
		return;
	snprintf(found->role, sizeof(found->role), "%s", role);
	log_line(TWT_LOG_ERROR, "person", "twtasks-web may not act as the role \"%s\" of the database;"
			 " GRANT \"%s\" TO %s%s%s", role, role, quote, login == NULL ? "its own role" : login, quote);
}

bool
person_failures_lack_role(const PersonFailures *failures)
{
	return failures->lacked_us != 0 && loop_now_us(failures->loop) - failures->lacked_us < FORGET_US;
}

/* ---- limits ---- */

static Failing *
find(PersonFailures *failures, const Peer *address)
{
	Failing    *oldest = &failures->failing[0];

	for (int i = 0; i < ADDRESSES_MAX; i++)
	{
		Failing    *failing = &failures->failing[i];

		if (failing->since_us != 0 && peer_is_same(&failing->address, address))
			return failing;
		if (failing->since_us < oldest->since_us)
			oldest = failing;
	}
	oldest->address = *address;
	oldest->since_us = 0;
	return oldest;
}

bool
person_failures_note(PersonFailures *failures, const HttpPeer *peer)
{
	int64		now = loop_now_us(failures->loop);
	Failing    *failing = find(failures, &peer->address);
	char		text[100] = "";
	int			n;

	if (failing->since_us == 0 || now - failing->since_us >= MINUTE_US)
	{
		failing->since_us = now;
		failing->n = 0;
	}
	failing->n++;
	if (is_due(failures, &failures->tokens, &n))
		log_line(TWT_LOG_WARN, "person", "refused %d requests with a wrong token, the last one from %s",
				 n, peer_text(peer, text, sizeof(text)));
	return failing->n > FAILURES_MAX;
}

/* ---- the whole ---- */

PersonFailures *
person_failures_new(Loop *loop)
{
	PersonFailures *failures = palloc0(sizeof(PersonFailures));

	failures->loop = loop;
	return failures;
}

void
person_failures_free(PersonFailures *failures)
{
	pfree(failures);
}
