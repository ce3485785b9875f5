/*-------------------------------------------------------------------------
 *
 * test_http_tls.c
 *		TLS of the HTTP server, with certificates of openssl and requests of curl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http_fixture.h"

static char directory[] = "/tmp/twtasks_test_tls.XXXXXX";

/* An authority, another one, and certificates by both. */
static const char script[] =
"set -eu; cd \"$0\"\n"
"ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
"	-subj \"/CN=$1\" -keyout $1.key -out $1.pem; }\n"
"signed() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
"	-subj \"$3\" -keyout $1.key -out $1.csr\n"
"	printf '%s\\n' \"$4\" >$1.ext\n"
"	openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days 2 "
"		-extfile $1.ext -out $1.pem; }\n"
"ca ca; ca other\n"
"signed server ca /CN=server subjectAltName=IP:127.0.0.1\n"
"signed renewed ca /CN=renewed subjectAltName=IP:127.0.0.1\n"
"signed alice ca /O=x/CN=alice extendedKeyUsage=clientAuth\n"
"signed machine ca /CN=machine extendedKeyUsage=serverAuth\n"
"signed two ca /CN=alice/CN=bob extendedKeyUsage=clientAuth\n"
"signed nameless ca /O=alice extendedKeyUsage=clientAuth\n"
"signed stranger other /CN=alice extendedKeyUsage=clientAuth\n"
"chmod 600 *.key\n";

static int
make_certificates(void **state)
{
	char	   *command;
	int			status;

	if (mkdtemp(directory) == NULL)
		return -1;
	setenv("SCRIPT", script, 1);
	command = psprintf("sh -c \"$SCRIPT\" %s 2>%s/log", directory, directory);
	status = system(command);
	pfree(command);
	return status;
}

static int
remove_certificates(void **state)
{
	char	   *command = psprintf("rm -rf %s", directory);
	int			status = system(command);

	pfree(command);
	return status;
}

/* ---- the server ---- */

static void
serve_name(void *arg, HttpRequest *request)
{
	const char *name = http_peer(request)->common_name;

	http_answer(request, 200, name != NULL ? name : "(nobody)");
}

static const HttpRoute routes[] = {
	{"GET", "/name", .is_open = true, .serve = serve_name},
};

static char *
file(const char *name)
{
	return psprintf("%s/%s", directory, name);
}

static HttpTls *
read_tls(const char *certificate, const char *key, const char *authority, char **reason)
{
	char	   *files[] = {file(certificate), file(key), authority != NULL ? file(authority) : NULL};
	HttpTls    *tls;

	*reason = NULL;
	tls = http_tls_read(files[0], files[1], files[2], reason);
	for (int i = 0; i < (int) lengthof(files); i++)
		pfree(files[i]);
	return tls;
}

static void
use_tls(const char *name, const char *authority)
{
	char	   *certificate = psprintf("%s.pem", name);
	char	   *key = psprintf("%s.key", name);
	char	   *reason;
	HttpTls    *tls = read_tls(certificate, key, authority, &reason);

	if (tls == NULL)
		fail_msg("%s", reason);
	http_set_tls(server.http, tls);
	http_tls_free(tls);
	pfree(certificate);
	pfree(key);
}

static void
open_tls(const char *authority)
{
	open_server(NULL, routes, lengthof(routes), NULL);
	use_tls("server", authority);
}

/* ---- the client ---- */

/* The words and the answer of curl, with more options. */
static const char *
curl(const char *options)
{
	char	   *command = psprintf("cd %s; curl --silent --show-error --max-time 60 --cacert ca.pem %s https://127.0.0.1:%d/name 2>&1",
								   directory, options, server.port);
	const char *heard;
	int			ends[2];
	pid_t		pid;

	close(client(""));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	if (pid == 0)
	{
		dup2(ends[1], 1);
		close(ends[0]);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(ends[1]);
	heard = rest_of(ends[0]);
	waitpid(pid, NULL, 0);
	pfree(command);
	return heard;
}

static void
expect(const char *options, const char *expected)
{
	const char *heard = curl(options);

	if (strstr(heard, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, heard);
}

/* ---- tests ---- */

static void
test_requests(void **state)
{
	open_tls(NULL);
	expect("", "(nobody)");
	expect("--tlsv1.3", "(nobody)");
	expect("--tlsv1.2 --tls-max 1.2", "(nobody)");
	expect("--tlsv1.0 --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0", "curl: (");
	expect("--cert alice.pem --key alice.key", "(nobody)");
	expect_end(client("GET /name HTTP/1.0\r\n\r\n"), NULL, "");
	close_server();
}

/* An authority that is not the server's has no say, nor has a certificate for servers. */
static void
test_clients(void **state)
{
	open_tls("ca.pem");
	expect("--cert alice.pem --key alice.key", "alice");
	expect("--cert alice.pem --key alice.key --tls-max 1.2", "alice");
	expect("", "(nobody)");
	expect("--cert stranger.pem --key stranger.key", "(nobody)");
	expect("--cert machine.pem --key machine.key", "(nobody)");
	expect("--cert two.pem --key two.key", "(nobody)");
	expect("--cert nameless.pem --key nameless.key", "(nobody)");
	close_server();
}

/* Connections from before go on with the old certificate. */
static void
test_renewed(void **state)
{
	open_tls(NULL);
	expect("--verbose", "CN=server");
	use_tls("renewed", "ca.pem");
	expect("--verbose", "CN=renewed");
	expect("--cert alice.pem --key alice.key", "alice");
	http_set_tls(server.http, NULL);
	expect("--verbose", "CN=renewed");
	close_server();
}

static void
expect_fault(const char *certificate, const char *key, const char *authority, const char *expected)
{
	char	   *reason;

	assert_null(read_tls(certificate, key, authority, &reason));
	if (strstr(reason, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, reason);
	pfree(reason);
}

static void
test_faults(void **state)
{
	char	   *key = file("open.key");

	expect_fault("server.pem", "alice.key", NULL, "do not fit");
	expect_fault("none.pem", "server.key", NULL, "none.pem");
	expect_fault("server.pem", "none.key", NULL, "could not");
	expect_fault("server.pem", "server.key", "server.key", "authorities");
	expect_fault("server.pem", "server.key", "none.pem", "authorities");
	close(creat(key, 0644));
	expect_fault("server.pem", "open.key", NULL, "nobody else may read it");
	pfree(key);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests),
		TEST(test_clients),
		TEST(test_renewed),
		TEST(test_faults),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
