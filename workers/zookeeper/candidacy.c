/*-------------------------------------------------------------------------
 *
 * candidacy.c
 *		One candidate of a group's election by ZooKeeper.
 *
 * One request runs at a time.  advance() takes the next step outside of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/log.h"
#include "options/secret_file.h"
#include "workers/zookeeper/candidacy.h"
#include "workers/zookeeper/candidates.h"
#include "workers/zookeeper/zk_servers.h"
#include "workers/zookeeper/zk_session.h"

/* A path that vanishes again and again costs no more requests between two checks. */
#define ASKS_MAX 16
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

struct Candidacy
{
	Loop	   *loop;
	const ZkSettings *settings;
	LoopFn		on_change;
	void	   *arg;
	ZkServers  *servers;		/* the lookup that runs; NULL: none */
	ZkSession  *session;		/* NULL: none */
	Step		step;
	int			npaths;			/* paths known to exist */
	char		guid[GUID_LEN + 1];
	char	   *own;			/* path of our node; NULL: not known */
	char	   *before;			/* path of the one before; NULL: we are first */
	bool		is_asking;
	int			nasked;			/* requests since the last check */
	int			rc;				/* result of the last answer */
	int64		asked_us;		/* when the current request was sent */
	int64		contact_us;		/* when the last answered one was sent */
	bool		is_ranked;		/* "before" was read in this session */
	int64		down_logged_us; /* 0: ZooKeeper works, as far as logged */
};

static void advance(void *arg);

/* ---- Paths ---- */

static char *
parent_path(const Candidacy *candidacy, int depth)
{
	return depth == 1 ? pstrdup("/twtasks") :
		psprintf("/twtasks/%s%s", candidacy->settings->group, depth == 2 ? "" : "/leader");
}

/* Sets the path of the candidate with this name; NULL: there is none. */
static void
set_path(const Candidacy *candidacy, char **path, const char *name)
{
	pfree(*path);
	*path = name == NULL ? NULL :
		psprintf("/twtasks/%s/leader/%s", candidacy->settings->group, name);
}

/* ---- Answers: completions only store results ---- */

static bool
is_answer(int rc)
{
	return rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS;
}

static void
note(Candidacy *candidacy, int rc)
{
	candidacy->is_asking = false;
	candidacy->rc = rc;
	if (is_answer(rc))
		candidacy->contact_us = candidacy->asked_us;
}

/* The paths may be deleted while the sidecar runs. */
static void
make_paths(Candidacy *candidacy)
{
	candidacy->is_ranked = false;
	candidacy->npaths = 0;
	candidacy->step = STEP_PATHS;
}

static void
on_path(int rc, const char *value, const void *data)
{
	Candidacy  *candidacy = unconstify(void *, data);

	note(candidacy, rc);
	if (rc == ZOK || rc == ZNODEEXISTS)
		candidacy->npaths++;
	else if (rc == ZNONODE)
		make_paths(candidacy);
}

static void
on_list(int rc, const struct String_vector *names, const void *data)
{
	Candidacy  *candidacy = unconstify(void *, data);
	const char *own;
	const char *before;

	note(candidacy, rc);
	if (rc == ZNONODE)
		make_paths(candidacy);
	if (rc != ZOK)
		return;
	own = candidates_own(names, candidacy->guid);
	before = own == NULL ? NULL : candidates_before(names, own);
	set_path(candidacy, &candidacy->own, own);
	set_path(candidacy, &candidacy->before, before);
	candidacy->is_ranked = own != NULL;
	candidacy->step = own == NULL ? STEP_JOIN : before == NULL ? STEP_STAND : STEP_WATCH;
}

static void
on_join(int rc, const char *value, const void *data)
{
	Candidacy  *candidacy = unconstify(void *, data);

	note(candidacy, rc);
	candidacy->step = STEP_LIST;
}

static void
on_watched(int rc, const struct Stat *stat, const void *data)
{
	Candidacy  *candidacy = unconstify(void *, data);

	note(candidacy, rc);
	if (rc == ZOK)
		candidacy->step = STEP_STAND;
	else if (rc == ZNONODE)
		candidacy->step = STEP_LIST;
}

static void
on_own(int rc, const struct Stat *stat, const void *data)
{
	Candidacy  *candidacy = unconstify(void *, data);

	note(candidacy, rc);
	if (rc == ZNONODE)
	{
		candidacy->is_ranked = false;
		candidacy->step = STEP_LIST;
	}
}

/* Runs when the node before ours, or the session, is gone. */
static void
on_before_changed(zhandle_t * handle, int type, int state, const char *path, void *arg)
{
	Candidacy  *candidacy = arg;

	if (type != ZOO_SESSION_EVENT && candidacy->step == STEP_STAND)
		candidacy->step = STEP_LIST;
}

/* ---- Requests ---- */

/*
 * Several groups share the first node, so anybody may create nodes below it.
 * With a digest, only its holder may touch the other nodes.
 */
static const struct ACL_vector *
access_list(const Candidacy *candidacy, int depth)
{
	static struct ACL entries[1];
	static struct ACL_vector create_only = {1, entries};

	if (candidacy->settings->digest_file == NULL)
		return &ZOO_OPEN_ACL_UNSAFE;
	if (depth > 1)
		return &ZOO_CREATOR_ALL_ACL;
	entries[0].perms = ZOO_PERM_CREATE | ZOO_PERM_READ;
	entries[0].id = ZOO_ANYONE_ID_UNSAFE;
	return &create_only;
}

static int
create(const Candidacy *candidacy, int depth, int flags, string_completion_t fn)
{
	char	   *path = depth <= PATHS ? parent_path(candidacy, depth) :
		psprintf("/twtasks/%s/leader/%s-", candidacy->settings->group, candidacy->guid);
	int			rc = zoo_acreate(zk_handle(candidacy->session), path, "", 0,
								 access_list(candidacy, depth), flags, fn, candidacy);

	pfree(path);
	return rc;
}

static int
list(Candidacy *candidacy)
{
	char	   *path = parent_path(candidacy, PATHS);
	int			rc = zoo_aget_children(zk_handle(candidacy->session), path, 0, on_list, candidacy);

	pfree(path);
	return rc;
}

static int
send_request(Candidacy *candidacy)
{
	zhandle_t  *handle = zk_handle(candidacy->session);

	switch (candidacy->step)
	{
		case STEP_OPEN:
			break;
		case STEP_PATHS:
			return create(candidacy, candidacy->npaths + 1, 0, on_path);
		case STEP_LIST:
			return list(candidacy);
		case STEP_JOIN:
			return create(candidacy, PATHS + 1, ZOO_EPHEMERAL | ZOO_SEQUENCE, on_join);
		case STEP_WATCH:
			return zoo_awexists(handle, candidacy->before, on_before_changed, candidacy,
								on_watched, candidacy);
		case STEP_STAND:
			return zoo_aexists(handle, candidacy->own, 0, on_own, candidacy);
	}
	return ZINVALIDSTATE;
}

static void
ask(Candidacy *candidacy)
{
	int			rc;

	candidacy->is_asking = true;
	candidacy->nasked++;
	candidacy->asked_us = loop_now_us(candidacy->loop);
	rc = send_request(candidacy);
	if (rc != ZOK)
		note(candidacy, rc);
	zk_flush(candidacy->session);
}

/* ---- Steps ---- */

static void
end_session(Candidacy *candidacy)
{
	ZkSession  *session = candidacy->session;

	if (session == NULL)
		return;
	candidacy->session = NULL;
	candidacy->step = STEP_OPEN;
	candidacy->is_ranked = false;
	zk_close(session);
	candidacy->is_asking = false;
}

/* Logs one line when ZooKeeper becomes unavailable, and then one a minute. */
static void
log_down(Candidacy *candidacy, const char *reason)
{
	if (candidacy->down_logged_us != 0 &&
		loop_now_us(candidacy->loop) < candidacy->down_logged_us + SECONDS_TO_US(60))
		return;
	log_line(TWT_LOG_WARN, "zookeeper", "%s", reason);
	candidacy->down_logged_us = loop_now_us(candidacy->loop);
}

/* The first line of the file, to be forgotten; NULL after a line of the log. */
static char **
read_digest(Candidacy *candidacy)
{
	char	   *reason = NULL;
	char	  **lines = secret_file_read(candidacy->settings->digest_file, &reason);
	char	   *message;

	if (lines != NULL)
		return lines;
	message = psprintf("digest_file: %s", reason);
	log_down(candidacy, message);
	pfree(message);
	pfree(reason);
	return NULL;
}

/*
 * False, after a line of the log: the session has no credentials, so ZooKeeper would
 * refuse its nodes for as long as it lasts.
 */
static bool
give_credentials(Candidacy *candidacy)
{
	char	  **lines;
	int			rc;

	if (candidacy->settings->digest_file == NULL)
		return true;
	lines = read_digest(candidacy);
	if (lines == NULL)
		return false;
	rc = zk_add_digest(candidacy->session, lines[0]);
	secret_file_forget(lines);
	if (rc != ZOK)
		log_down(candidacy, zerror(rc));
	return rc == ZOK;
}

/* False, after a line of the log: two nodes with one name would both lead. */
static bool
make_guid(Candidacy *candidacy)
{
	unsigned char bytes[GUID_LEN / 2];

	if (!pg_strong_random(bytes, sizeof(bytes)))
	{
		log_down(candidacy, "could not generate random bytes");
		return false;
	}
	for (int i = 0; i < GUID_LEN / 2; i++)
		snprintf(candidacy->guid + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/* The next look tries again where this fails. */
static void
on_found(void *arg, const char *addresses, const char *error)
{
	Candidacy  *candidacy = arg;

	candidacy->servers = NULL;
	if (addresses != NULL)
		candidacy->session = zk_open(candidacy->loop, addresses,
									 (int) (candidacy->settings->session_us / 1000),
									 advance, candidacy);
	if (candidacy->session == NULL)
	{
		log_down(candidacy, addresses == NULL ? error : strerror(errno));
		return;
	}
	make_paths(candidacy);
	candidacy->asked_us = loop_now_us(candidacy->loop);
	if (!make_guid(candidacy) || !give_credentials(candidacy))
		end_session(candidacy);
}

/* A session that was silent for too long is over. */
static bool
is_lost(const Candidacy *candidacy)
{
	return zk_state(candidacy->session) == ZK_OVER ||
		loop_now_us(candidacy->loop) - Max(candidacy->contact_us, candidacy->asked_us) >
		Max(zk_timeout_us(candidacy->session), candidacy->settings->session_us);
}

/* Whether the request was refused; the next check sends it again. */
static bool
is_refused(Candidacy *candidacy)
{
	int			rc = candidacy->rc;

	if (!is_answer(rc))
		log_down(candidacy, rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT ?
				 "the connection was lost: it is opened again" :
				 rc == ZNOAUTH ? "no right to the group's nodes: they may have another digest_file" : zerror(rc));
	else if (candidacy->is_ranked)
		candidacy->down_logged_us = 0;
	return !is_answer(rc);
}

static void
advance(void *arg)
{
	Candidacy  *candidacy = arg;

	if (candidacy->session != NULL && is_lost(candidacy))
	{
		log_down(candidacy, "its session is over: another one is opened");
		end_session(candidacy);
	}
	while (candidacy->session != NULL && !candidacy->is_asking && candidacy->nasked < ASKS_MAX &&
		   zk_state(candidacy->session) == ZK_CONNECTED && !is_refused(candidacy) &&
		   candidacy->step != STEP_STAND)
	{
		if (candidacy->step == STEP_PATHS && candidacy->npaths == PATHS)
			candidacy->step = STEP_LIST;
		ask(candidacy);
	}
	candidacy->on_change(candidacy->arg);
}

static void
withdraw(Candidacy *candidacy)
{
	if (candidacy->servers != NULL)
		zk_servers_cancel(candidacy->servers);
	candidacy->servers = NULL;
	end_session(candidacy);
}

void
candidacy_look(Candidacy *candidacy, bool may_stand)
{
	candidacy->rc = ZOK;
	candidacy->nasked = 0;
	if (!may_stand)
		withdraw(candidacy);
	else if (candidacy->session == NULL && candidacy->servers == NULL)
		candidacy->servers = zk_servers_find(candidacy->loop, candidacy->settings->servers,
											 candidacy->settings->nservers, on_found, candidacy);
	else if (candidacy->session != NULL && candidacy->step == STEP_STAND && !candidacy->is_asking &&
			 zk_state(candidacy->session) == ZK_CONNECTED)
		ask(candidacy);
	advance(candidacy);
}

Standing
candidacy_standing(const Candidacy *candidacy, int64 *until_us)
{
	*until_us = candidacy->session == NULL || !candidacy->is_ranked ? 0 :
		candidacy->contact_us + zk_timeout_us(candidacy->session) * 2 / 3;
	if (loop_now_us(candidacy->loop) >= *until_us)
		return STANDING_UNKNOWN;
	return candidacy->before == NULL ? STANDING_FIRST : STANDING_BEHIND;
}

Candidacy *
candidacy_new(Loop *loop, const ZkSettings *settings, LoopFn on_change, void *arg)
{
	Candidacy  *candidacy = palloc0(sizeof(Candidacy));

	candidacy->loop = loop;
	candidacy->settings = settings;
	candidacy->on_change = on_change;
	candidacy->arg = arg;
	return candidacy;
}

void
candidacy_free(Candidacy *candidacy)
{
	withdraw(candidacy);
	set_path(candidacy, &candidacy->own, NULL);
	set_path(candidacy, &candidacy->before, NULL);
	pfree(candidacy);
}
