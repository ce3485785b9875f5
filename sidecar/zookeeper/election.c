/*-------------------------------------------------------------------------
 *
 * election.c
 *		The election of a group's leader by ZooKeeper.
 *
 * One request runs at a time.  Its completion stores the result.  When the
 * library has returned, advance() takes the next step.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/log.h"
#include "config/secret_file.h"
#include "zookeeper/election.h"
#include "zookeeper/zk_servers.h"
#include "zookeeper/zk_session.h"

/* The longest time between two checks that our node still exists. */
#define LOOK_US SECONDS_TO_US(2)
#define SEQUENCE_DIGITS 10
#define GUID_BYTES 16
#define PATHS 3

/* The purpose of the current request, or of the next one. */
typedef enum Step
{
	STEP_OPEN,					/* no session */
	STEP_PATHS,					/* the persistent nodes above our node */
	STEP_LIST,					/* the nodes of all candidates */
	STEP_JOIN,					/* our ephemeral node */
	STEP_WATCH,					/* the node before our node */
	STEP_STAND					/* repeated: does our node exist */
} Step;

struct Election
{
	Loop	   *loop;
	const ZooKeeperConfig *config;
	Node	   *node;
	LoopTimer  *timer;			/* next look */
	ZkServers  *servers;		/* the lookup that runs; NULL: none */
	ZkSession  *session;		/* NULL: none */
	Step		step;
	int			npaths;			/* paths known to exist */
	char		guid[2 * GUID_BYTES + 1];
	char	   *own;			/* path of our node; NULL: not known */
	char	   *before;			/* path of the one before; NULL: we are first */
	bool		is_asking;
	int			rc;				/* result of the last answer */
	int64		asked_us;		/* when the current request was sent */
	int64		contact_us;		/* when the last answered one was sent */
	int64		opened_us;		/* when we began to try */
	bool		is_ranked;		/* "before" was read in this session */
	NodeClaim	told;
	bool		is_down_told;
};

static void advance(void *arg);

/* ---- The claim ---- */

static bool
is_sure(const Election *election)
{
	return election->session != NULL && election->is_ranked &&
		loop_now_us(election->loop) - election->contact_us <
		zk_timeout_us(election->session) * 2 / 3;
}

static NodeClaim
current_claim(void *arg)
{
	const Election *election = arg;
	int64		since = Max(election->contact_us, election->opened_us);

	if (is_sure(election))
		return election->before == NULL ? CLAIM_LEAD : CLAIM_FOLLOW;
	if (loop_now_us(election->loop) - since < election->config->fallback_us)
		return CLAIM_FOLLOW;
	return CLAIM_NONE;
}

static void
tell_change(Election *election)
{
	NodeClaim	claim = current_claim(election);

	if (claim == election->told)
		return;
	if (claim == CLAIM_NONE)
		log_line(TWT_LOG_WARN, "zookeeper", "no answer for " INT64_FORMAT
				 " s, so PostgreSQL chooses the leader", election->config->fallback_us / 1000000);
	else if (election->told == CLAIM_NONE)
		log_line(TWT_LOG_INFO, "zookeeper", "answers again and chooses the leader");
	election->told = claim;
	node_look(election->node);
}

/* ---- Paths ---- */

static char *
parent_path(const Election *election, int depth)
{
	return depth == 1 ? pstrdup("/twtasks") :
		psprintf("/twtasks/%s%s", election->config->group, depth == 2 ? "" : "/leader");
}

/* Sets the path of the candidate with this name; NULL: there is none. */
static void
set_path(const Election *election, char **path, const char *name)
{
	pfree(*path);
	*path = name == NULL ? NULL :
		psprintf("/twtasks/%s/leader/%s", election->config->group, name);
}

/* ZooKeeper ends each name with its sequence number. */
static const char *
sequence(const char *name)
{
	return strlen(name) < SEQUENCE_DIGITS ? NULL : name + strlen(name) - SEQUENCE_DIGITS;
}

static const char *
find_own(const Election *election, const struct String_vector *names)
{
	for (int i = 0; i < names->count; i++)
		if (strstr(names->data[i], election->guid) != NULL)
			return names->data[i];
	return NULL;
}

/* The last candidate before ours; NULL: there is none. */
static const char *
find_before(const struct String_vector *names, const char *own)
{
	const char *found = NULL;

	for (int i = 0; i < names->count; i++)
	{
		const char *name = names->data[i];

		if (sequence(name) == NULL || strcmp(sequence(name), sequence(own)) >= 0)
			continue;
		if (found == NULL || strcmp(sequence(name), sequence(found)) > 0)
			found = name;
	}
	return found;
}

/* ---- Answers: completions only store results ---- */

static bool
is_answer(int rc)
{
	return rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS;
}

static void
note(Election *election, int rc)
{
	election->is_asking = false;
	election->rc = rc;
	if (is_answer(rc))
		election->contact_us = election->asked_us;
}

static void
on_path(int rc, const char *value, const void *data)
{
	Election   *election = unconstify(void *, data);

	note(election, rc);
	if (rc == ZOK || rc == ZNODEEXISTS)
		election->npaths++;
}

static void
on_list(int rc, const struct String_vector *names, const void *data)
{
	Election   *election = unconstify(void *, data);
	const char *own;
	const char *before;

	note(election, rc);
	if (rc != ZOK)
		return;
	own = find_own(election, names);
	before = own == NULL ? NULL : find_before(names, own);
	set_path(election, &election->own, own);
	set_path(election, &election->before, before);
	election->is_ranked = own != NULL;
	election->step = own == NULL ? STEP_JOIN : before == NULL ? STEP_STAND : STEP_WATCH;
}

static void
on_join(int rc, const char *value, const void *data)
{
	Election   *election = unconstify(void *, data);

	note(election, rc);
	election->step = STEP_LIST;
}

static void
on_watched(int rc, const struct Stat *stat, const void *data)
{
	Election   *election = unconstify(void *, data);

	note(election, rc);
	if (rc == ZOK)
		election->step = STEP_STAND;
	else if (rc == ZNONODE)
		election->step = STEP_LIST;
}

static void
on_own(int rc, const struct Stat *stat, const void *data)
{
	Election   *election = unconstify(void *, data);

	note(election, rc);
	if (rc == ZNONODE)
	{
		election->is_ranked = false;
		election->step = STEP_LIST;
	}
}

/* Runs when the node before ours, or the session, is gone. */
static void
on_before_changed(zhandle_t * handle, int type, int state, const char *path, void *arg)
{
	Election   *election = arg;

	if (type != ZOO_SESSION_EVENT && election->step == STEP_STAND)
		election->step = STEP_LIST;
}

/* ---- Requests ---- */

/*
 * Several groups share the first node, so anybody may create nodes below it.
 * With a digest, only its holder may touch the other nodes.
 */
static const struct ACL_vector *
access_list(const Election *election, int depth)
{
	static struct ACL entries[1];
	static struct ACL_vector create_only = {1, entries};

	if (election->config->digest_file == NULL)
		return &ZOO_OPEN_ACL_UNSAFE;
	if (depth > 1)
		return &ZOO_CREATOR_ALL_ACL;
	entries[0].perms = ZOO_PERM_CREATE | ZOO_PERM_READ;
	entries[0].id = ZOO_ANYONE_ID_UNSAFE;
	return &create_only;
}

static int
create(const Election *election, int depth, int flags, string_completion_t fn)
{
	char	   *path = depth <= PATHS ? parent_path(election, depth) :
		psprintf("/twtasks/%s/leader/%s-", election->config->group, election->guid);
	int			rc = zoo_acreate(zk_handle(election->session), path, "", 0,
								 access_list(election, depth), flags, fn, election);

	pfree(path);
	return rc;
}

static int
list(Election *election)
{
	char	   *path = parent_path(election, PATHS);
	int			rc = zoo_aget_children(zk_handle(election->session), path, 0, on_list, election);

	pfree(path);
	return rc;
}

static int
send_request(Election *election)
{
	zhandle_t  *handle = zk_handle(election->session);

	switch (election->step)
	{
		case STEP_OPEN:
			break;
		case STEP_PATHS:
			return create(election, election->npaths + 1, 0, on_path);
		case STEP_LIST:
			return list(election);
		case STEP_JOIN:
			return create(election, PATHS + 1, ZOO_EPHEMERAL | ZOO_SEQUENCE, on_join);
		case STEP_WATCH:
			return zoo_awexists(handle, election->before, on_before_changed, election,
								on_watched, election);
		case STEP_STAND:
			return zoo_aexists(handle, election->own, 0, on_own, election);
	}
	return ZINVALIDSTATE;
}

static void
ask(Election *election)
{
	int			rc;

	election->is_asking = true;
	election->asked_us = loop_now_us(election->loop);
	rc = send_request(election);
	if (rc != ZOK)
		note(election, rc);
	zk_flush(election->session);
}

/* ---- Steps ---- */

static void
end_session(Election *election)
{
	ZkSession  *session = election->session;

	if (session == NULL)
		return;
	election->session = NULL;
	election->step = STEP_OPEN;
	election->is_ranked = false;
	zk_close(session);
	election->is_asking = false;
}

/* Logs one line each time that ZooKeeper becomes unavailable. */
static void
log_down(Election *election, const char *reason)
{
	if (!election->is_down_told)
		log_line(TWT_LOG_WARN, "zookeeper", "%s", reason);
	election->is_down_told = true;
}

static void
give_credentials(Election *election)
{
	char	   *reason = NULL;
	char	  **lines;

	if (election->config->digest_file == NULL)
		return;
	lines = secret_file_read(election->config->digest_file, &reason);
	if (lines == NULL)
	{
		char	   *message = psprintf("digest_file: %s", reason);

		log_down(election, message);
		pfree(message);
		pfree(reason);
		return;
	}
	(void) zoo_add_auth(zk_handle(election->session), "digest", lines[0],
						(int) strlen(lines[0]), NULL, NULL);
	secret_file_forget(lines);
}

static void
make_guid(Election *election)
{
	unsigned char bytes[GUID_BYTES];

	if (!pg_strong_random(bytes, sizeof(bytes)))
		memset(bytes, 0, sizeof(bytes));
	for (int i = 0; i < GUID_BYTES; i++)
		snprintf(election->guid + 2 * i, 3, "%02x", bytes[i]);
}

static void
on_found(void *arg, const char *addresses, const char *error)
{
	Election   *election = arg;

	election->servers = NULL;
	if (addresses != NULL)
		election->session = zk_open(election->loop, addresses,
									(int) (election->config->session_us / 1000),
									advance, election);
	if (election->session == NULL)
	{
		log_down(election, addresses == NULL ? error : strerror(errno));
		return;
	}
	make_guid(election);
	election->step = STEP_PATHS;
	election->npaths = 0;
	election->asked_us = loop_now_us(election->loop);
	give_credentials(election);
}

/* A session that was silent for too long is over. */
static bool
is_lost(const Election *election)
{
	return zk_state(election->session) == ZK_OVER ||
		loop_now_us(election->loop) - Max(election->contact_us, election->asked_us) >
		Max(zk_timeout_us(election->session), election->config->session_us);
}

/* Whether the request was refused; the next check sends it again. */
static bool
is_refused(Election *election)
{
	int			rc = election->rc;

	if (!is_answer(rc))
		log_down(election, rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT ?
				 "the connection was lost: it is opened again" : zerror(rc));
	else
		election->is_down_told = false;
	return !is_answer(rc);
}

static void
advance(void *arg)
{
	Election   *election = arg;

	if (election->session != NULL && is_lost(election))
	{
		log_down(election, "its session is over: another one is opened");
		end_session(election);
	}
	while (election->session != NULL && !election->is_asking &&
		   zk_state(election->session) == ZK_CONNECTED && !is_refused(election) &&
		   election->step != STEP_STAND)
	{
		if (election->step == STEP_PATHS && election->npaths == PATHS)
			election->step = STEP_LIST;
		ask(election);
	}
	tell_change(election);
}

static void
withdraw(Election *election)
{
	if (election->servers != NULL)
		zk_servers_cancel(election->servers);
	election->servers = NULL;
	end_session(election);
	election->opened_us = loop_now_us(election->loop);
}

static void
on_look(void *arg)
{
	Election   *election = arg;

	election->rc = ZOK;
	if (!node_is_alive(election->node))
		withdraw(election);
	else if (election->session == NULL && election->servers == NULL)
		election->servers = zk_servers_find(election->loop, election->config->servers,
											election->config->nservers, on_found, election);
	else if (election->session != NULL && election->step == STEP_STAND && !election->is_asking &&
			 zk_state(election->session) == ZK_CONNECTED)
		ask(election);
	advance(election);
	loop_timer_start(election->timer, Min(election->config->session_us / 6, LOOK_US));
}

Election *
election_open(Loop *loop, const ZooKeeperConfig *config, Node *node)
{
	Election   *election = palloc0(sizeof(Election));

	election->loop = loop;
	election->config = config;
	election->node = node;
	election->opened_us = loop_now_us(loop);
	election->told = CLAIM_FOLLOW;
	election->timer = loop_timer_new(loop, on_look, election);
	loop_timer_start(election->timer, 0);
	node_on_claim(node, current_claim, election);
	return election;
}

void
election_free(Election *election)
{
	withdraw(election);
	loop_timer_free(election->timer);
	set_path(election, &election->own, NULL);
	set_path(election, &election->before, NULL);
	pfree(election);
}
