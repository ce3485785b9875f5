/*-------------------------------------------------------------------------
 *
 * test_candidacy.c
 *		A candidate opens no session without its secret, or without a name that no
 *		other one has: it begins anew, until it has both.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>
#include <unistd.h>

#include "fake_loop.h"
#include "workers/zookeeper/candidacy.h"
#include "workers/zookeeper/zk_servers.h"
#include "workers/zookeeper/zk_session.h"

/* ---- servers that are found at once, and a session that is not connected yet ---- */

static ZkServersFn on_found;
static void *found_arg;
static int	nothing;			/* has the address of what nobody looks into */
static int	nopened;
static int	nclosed;
static int	auth_result;
static char auth[64];
static bool has_chance;

ZkServers *
zk_servers_find(Loop *loop, char *const *servers, int nservers, ZkServersFn fn, void *arg)
{
	on_found = fn;
	found_arg = arg;
	return (ZkServers *) &nothing;
}

void
zk_servers_cancel(ZkServers *servers)
{
	on_found = NULL;
}

ZkSession *
zk_open(Loop *loop, const char *addresses, int timeout_ms, LoopFn on_turn, void *arg)
{
	nopened++;
	return (ZkSession *) &nothing;
}

void
zk_close(ZkSession *session)
{
	nclosed++;
}

zhandle_t *
zk_handle(const ZkSession *session)
{
	return NULL;
}

void
zk_flush(ZkSession *session)
{
}

ZkState
zk_state(const ZkSession *session)
{
	return ZK_AWAY;
}

int64
zk_timeout_us(const ZkSession *session)
{
	return SECONDS_TO_US(60);
}

int
zk_add_digest(const ZkSession *session, const char *digest)
{
	strlcpy(auth, digest, sizeof(auth));
	return auth_result;
}

/* Takes the place of the one in a library. */
bool
pg_strong_random(void *buf, size_t len)
{
	memset(buf, 1, len);
	return has_chance;
}

/* ---- the candidate ---- */

static char path[64];
static char group[] = "g";
static ZkSettings settings;
static Candidacy *candidate;

static void
ignore(void *arg)
{
}

static void
write_secret(void)
{
	FILE	   *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(chmod(path, 0600), 0);
	fprintf(file, "user:password\n");
	fclose(file);
}

static int
set_up(void **state)
{
	snprintf(path, sizeof(path), "/tmp/test_candidacy.%d", (int) getpid());
	settings.group = group;
	settings.digest_file = path;
	settings.session_us = SECONDS_TO_US(60);
	candidate = candidacy_new(NULL, &settings, ignore, NULL);
	nopened = nclosed = 0;
	auth_result = ZOK;
	auth[0] = '\0';
	has_chance = true;
	write_secret();
	return 0;
}

static int
tear_down(void **state)
{
	candidacy_free(candidate);
	(void) unlink(path);
	return 0;
}

/* Looks; whether a session stays open after it. */
static bool
opens(void)
{
	candidacy_look(candidate, true);
	if (on_found != NULL)
		on_found(found_arg, "127.0.0.1:2181", NULL);
	on_found = NULL;
	return nopened > nclosed;
}

static void
test_secret(void **state)
{
	(void) unlink(path);
	assert_false(opens());
	assert_false(opens());
	assert_string_equal(auth, "");
	write_secret();
	assert_true(opens());
	assert_string_equal(auth, "user:password");
	assert_true(opens());
	assert_int_equal(nopened - nclosed, 1);
}

static void
test_secret_refused(void **state)
{
	auth_result = ZSYSTEMERROR;
	assert_false(opens());
	auth_result = ZOK;
	assert_true(opens());
}

static void
test_name(void **state)
{
	has_chance = false;
	assert_false(opens());
	has_chance = true;
	assert_true(opens());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_secret, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_secret_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_name, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
