/*-------------------------------------------------------------------------
 *
 * test_http_sign.c
 *		Secrets from files, and the signatures that they make.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "options/secret_file.h"
#include "workers/curl/http_sign.h"

static char path[] = "/tmp/twtasks_test_sign.XXXXXX";

static void
write_secret(const char *text, mode_t mode)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void
expect_refused(const char *text, const char *expected)
{
	char	   *reason = NULL;

	write_secret(text, 0600);
	assert_null(http_keys_read(path, &reason));
	assert_string_equal(reason, expected);
	pfree(reason);
}

static void
expect_signature(const char *secrets, const HttpSigned *what, const char *expected)
{
	char	   *reason = NULL;
	HttpKeys   *keys;
	StringInfoData text;

	write_secret(secrets, 0600);
	keys = http_keys_read(path, &reason);
	if (keys == NULL)
		fail_msg("refused: %s", reason);
	initStringInfo(&text);
	http_sign(keys, what, &text);
	assert_string_equal(text.data, expected);
	pfree(text.data);
	http_keys_free(keys);
}

/* Values of another implementation. */
#define BODY "{\"test\": 2432232314}"
#define FIRST "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define SECOND "v1,mNU2Fll6tqFUPd8ETZ1J21nfsI5iZ5mz+w6gR0F0/IA="

static void
test_signatures(void **state)
{
	HttpSigned	example = {"v1", "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.", BODY, sizeof(BODY) - 1};
	HttpSigned	empty = {"v1", "id.1.", NULL, 0};

	expect_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &example, FIRST);
	expect_signature("0123456789abcdef\n", &empty, SECOND);
}

/* The same thing signed with each. */
static void
test_rotation(void **state)
{
	HttpSigned	empty = {"v1", "id.1.", NULL, 0};

	expect_signature("# the new one\n0123456789abcdef\n\n  0123456789abcdef  \r\n",
					 &empty, SECOND " " SECOND);
}

static void
test_bad_secrets(void **state)
{
	expect_refused("", "the file is empty");
	expect_refused("# only a remark\n\n", "the file is empty");
	expect_refused("0123456789abcde", "secret 1 of the file: a secret must have 16 bytes at least");
	expect_refused("0123456789abcdef\nshort", "secret 2 of the file: a secret must have 16 bytes at least");
	expect_refused("whsec_MfKQ9r8G", "secret 1 of the file: a secret must have 16 bytes at least");
	expect_refused("whsec_@@@@", "secret 1 of the file: what follows whsec_ is not base64");
}

static void
expect_unread(const char *name, const char *expected)
{
	char	   *reason = NULL;

	assert_null(secret_file_read(name, &reason));
	if (strstr(reason, expected) == NULL)
		fail_msg("%s: %s", name, reason);
	pfree(reason);
}

static void
test_files(void **state)
{
	static const mode_t too_open[] = {0604, 0602, 0601, 0620, 0666};
	char	   *link = psprintf("%s.link", path);
	char	   *large = palloc0(70 * 1024);

	for (int i = 0; i < (int) lengthof(too_open); i++)
	{
		write_secret("0123456789abcdef", too_open[i]);
		expect_unread(path, "nobody else may read it");
	}
	write_secret("0123456789abcdef", 0640);
	if (geteuid() != 0)
		expect_unread(path, "nobody else may read it");
	write_secret("0123456789abcdef", 0400);
	assert_int_equal(symlink("/nonexistent", link), 0);
	expect_unread(link, "could not open the file: No such file");
	unlink(link);
	expect_unread("/dev/null", "not a regular file");
	expect_unread("/", "not a regular file");
	memset(large, 'x', 70 * 1024 - 1);
	write_secret(large, 0600);
	expect_unread(path, "too large");
	pfree(large);
	pfree(link);
}

static void
test_comparison(void **state)
{
	assert_true(secret_is_same("abc", "abc"));
	assert_true(secret_is_same("", ""));
	assert_false(secret_is_same("abc", "abd"));
	assert_false(secret_is_same("abc", "ab"));
	assert_false(secret_is_same("ab", "abc"));
	assert_false(secret_is_same("abab", "ab"));
	assert_false(secret_is_same("ab", "abab"));
	assert_false(secret_is_same("", "a"));
	assert_false(secret_is_same("a", ""));
}

static int
set_up(void **state)
{
	int			fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int
tear_down(void **state)
{
	return unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_bad_secrets),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_comparison),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
