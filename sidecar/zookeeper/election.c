/*-------------------------------------------------------------------------
 *
 * election.c
 *		The election of a group's leader by ZooKeeper.
 *
 * One request runs at a time.  advance() takes the next step outside of the library.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/log.h"
#include "options/secret_file.h"
#include "zookeeper/candidates.h"
#include "zookeeper/election.h"
#include "zookeeper/zk_servers.h"
#include "zookeeper/zk_session.h"

/* The longest time between two checks that our node still exists. */
#define LOOK_US SECONDS_TO_US(2)

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
	char		guid[GUID_LEN + 1];
	char	   *own;			/* path of our node; NULL: not known */
	char	   *before;			/* path of the one before; NULL: we are first */
	bool		is_asking;
	int			nasked;			/* requests since the last check */
	int			rc;				/* result of the last answer */
	int64		asked_us;		/* when the current request was sent */
	int64		contact_us;		/* when the last answered one was sent */
	int64		led_us;			/* when a leader was known last, or we began */
	bool		is_ranked;		/* "before" was read in this session */
	bool		sees_leader;	/* in PostgreSQL another node leads */
	NodeClaim	last_claim;
	int64		down_logged_us; /* 0: ZooKeeper works, as far as logged */
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

/*
 * The node before ours may be foreign, or left over: then no node leads in
 * PostgreSQL, or only this one, which PostgreSQL chose.
 */
static NodeClaim
judge(Election *election)
{
	int64		now = loop_now_us(election->loop);
	bool		leads = is_sure(election) && election->before == NULL;

	if (leads || (is_sure(election) && election->sees_leader))
		election->led_us = now;
	if (leads)
		return CLAIM_LEAD;
	return now - election->led_us < election->config->fallback_us ? CLAIM_FOLLOW : CLAIM_NONE;
}

static NodeClaim
current_claim(void *arg, bool sees_leader)
{
	Election   *election = arg;

	election->sees_leader = sees_leader;
	return judge(election);
}

static void
tell_change(Election *election)
{
	NodeClaim	claim = judge(election);

	if (claim == election->last_claim)
		return;
	if (claim == CLAIM_NONE)
		log_line(TWT_LOG_WARN, "zookeeper", "%s for " INT64_FORMAT " s, so PostgreSQL chooses the leader",
				 is_sure(election) ? "the first of the group's nodes does not lead" : "no answer that says who leads",
				 election->config->fallback_us / 1000000);
	else if (election->last_claim == CLAIM_NONE)
		log_line(TWT_LOG_INFO, "zookeeper", "answers again and chooses the leader");
	election->last_claim = claim;
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

/* The paths may be deleted while the sidecar runs. */
static void
make_paths(Election *election)
{
	election->is_ranked = false;
	election->npaths = 0;
	election->step = STEP_PATHS;
}

static void
on_path(int rc, const char *value, const void *data)
{
	Election   *election = unconstify(void *, data);

	note(election, rc);
	if (rc == ZOK || rc == ZNODEEXISTS)
		election->npaths++;
	else if (rc == ZNONODE)
		make_paths(election);
}

static void
on_list(int rc, const struct String_vector *names, const void *data)
{
	Election   *election = unconstify(void *, data);
	const char *own;
	const char *before;

	note(election, rc);
	if (rc == ZNONODE)
		make_paths(election);
	if (rc != ZOK)
		return;
	own = candidates_own(names, election->guid);
	before = own == NULL ? NULL : candidates_before(names, own);
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
	election->nasked++;
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

/* Logs one line when ZooKeeper becomes unavailable, and then one a minute. */
static void
log_down(Election *election, const char *reason)
{
	if (election->down_logged_us != 0 &&
		loop_now_us(election->loop) < election->down_logged_us + SECONDS_TO_US(60))
		return;
	log_line(TWT_LOG_WARN, "zookeeper", "%s", reason);
	election->down_logged_us = loop_now_us(election->loop);
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
	unsigned char bytes[GUID_LEN / 2];

	if (!pg_strong_random(bytes, sizeof(bytes)))
		memset(bytes, 0, sizeof(bytes));
	for (int i = 0; i < GUID_LEN / 2; i++)
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
	make_paths(election);
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
				 "the connection was lost: it is opened again" :
				 rc == ZNOAUTH ? "no right to the group's nodes: they may have another digest_file" : zerror(rc));
	else if (election->is_ranked)
		election->down_logged_us = 0;
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
	while (election->session != NULL && !election->is_asking && election->nasked < ASKS_MAX &&
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
	election->led_us = loop_now_us(election->loop);
}

static void
on_look(void *arg)
{
	Election   *election = arg;

	election->rc = ZOK;
	election->nasked = 0;
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
	election->led_us = loop_now_us(loop);
	election->last_claim = CLAIM_FOLLOW;
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
