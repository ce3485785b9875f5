/*-------------------------------------------------------------------------
 *
 * test_lookup.c
 *		While a host name is looked up, the loop goes on.
 *
 * The resolver is ours here: it does not answer before it may.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "workers/curl/http_client.h"
#include "pg/lookup.h"
#include "pg/pg.h"

/* A test that hangs fails. */
#define PATIENCE_SECONDS 60

typedef int (*GetAddrInfo) (const char *, const char *, const struct addrinfo *,
							struct addrinfo **);

static Loop *loop;
static pthread_t loop_thread;
static sem_t gate;				/* lets one lookup end */
static sem_t begun;
static sem_t ended;
static char *answer;
static int	listener;
static int	port;

/* For libpq and libcurl, too. */
int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
			struct addrinfo **found)
{
	GetAddrInfo real = (GetAddrInfo) dlsym(RTLD_NEXT, "getaddrinfo");
	int			code = EAI_NONAME;

	if (host == NULL || strstr(host, ".test") == NULL)
		return real(host, service, hints, found);
	if (pthread_equal(pthread_self(), loop_thread))
		return EAI_AGAIN;
	sem_post(&begun);
	sem_wait(&gate);
	if (strcmp(host, "db.test") == 0)
		code = real("127.0.0.1", service, hints, found);
	sem_post(&ended);
	return code;
}

static void
open_gate(void *arg)
{
	sem_post(&gate);
}

static void
end_loop(void *arg)
{
	loop_stop(loop);
}

static void
on_client(void *arg, int ready)
{
	loop_stop(loop);
}

static int
setup(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);

	alarm(PATIENCE_SECONDS);
	loop = loop_new();
	loop_thread = pthread_self();
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		listen(listener, 5) != 0 ||
		getsockname(listener, (struct sockaddr *) &address, &len) != 0)
		return -1;
	port = ntohs(address.sin_port);
	sem_init(&gate, 0, 0);
	sem_init(&begun, 0, 0);
	sem_init(&ended, 0, 0);
	return loop != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	loop_free(loop);
	close(listener);
	sem_wait(&ended);
	sem_destroy(&gate);
	sem_destroy(&begun);
	sem_destroy(&ended);
	return 0;
}

static void
run_until(LoopFn fn, int64 us)
{
	LoopTimer  *timer = loop_timer_new(loop, fn, NULL);

	loop_timer_start(timer, us);
	loop_run(loop);
	loop_timer_free(timer);
}

static Pg *
new_pg(void)
{
	char	   *conninfo = psprintf("host=db.test port=%d sslmode=disable", port);
	Pg		   *pg = pg_new(loop, conninfo, "test", NULL, NULL);

	pfree(conninfo);
	return pg;
}

/* A timer opens the gate: only a loop that goes on gets to it. */
static void
test_connection_waits_beside_the_loop(void **state)
{
	Pg		   *pg = new_pg();
	LoopIo	   *io = loop_io_new(loop, listener, on_client, NULL);

	loop_io_want(io, LOOP_READ);
	pg_start(pg);
	run_until(open_gate, 0);
	loop_io_free(io);
	pg_close(pg);
}

static void
test_connection_closed_meanwhile(void **state)
{
	Pg		   *pg = new_pg();

	pg_start(pg);
	run_until(end_loop, 0);
	sem_wait(&begun);
	pg_close(pg);
	open_gate(NULL);
	run_until(end_loop, 0);
}

static void
take_answer(void *arg, const char *addresses, const char *error)
{
	assert_ptr_equal(arg, &answer);
	answer = psprintf("%s, %s", addresses == NULL ? "none" : addresses,
					  error == NULL ? "no error" : error);
	loop_stop(loop);
}

static void
expect_answer(const char *host, const char *expected)
{
	Lookup	   *lookup = lookup_start(loop, host, take_answer, &answer);

	assert_non_null(lookup);
	run_until(open_gate, 0);
	assert_string_equal(answer, expected);
	pfree(answer);
}

static void
test_answer(void **state)
{
	expect_answer("db.test", "127.0.0.1, no error");
}

static void
test_no_answer(void **state)
{
	expect_answer("other.test", "none, could not translate host name \"other.test\" "
				  "to address: Name or service not known");
}

static void
expect_no_end(void *arg, CURL * easy, CURLcode code)
{
	fail_msg("the request has ended: %s", curl_easy_strerror(code));
}

static void
test_request_broken_off_meanwhile(void **state)
{
	HttpClient *client = http_client_new(loop, expect_no_end);
	CURL	   *easy = curl_easy_init();

	curl_easy_setopt(easy, CURLOPT_URL, "http://db.test/");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	http_client_start(client, easy);
	run_until(end_loop, 0);
	sem_wait(&begun);
	http_client_cancel(client, easy);
	curl_easy_cleanup(easy);
	http_client_free(client);
	open_gate(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection_waits_beside_the_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connection_closed_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_broken_off_meanwhile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
