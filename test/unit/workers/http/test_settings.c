/*-------------------------------------------------------------------------
 *
 * test_settings.c
 *		Which secrets sign the requests to a host, and which are hidden in answers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "workers/http/settings.h"

static char path[] = "/tmp/twtasks_test_settings.XXXXXX";

static HttpSettings *
read_settings(const char *files)
{
	WorkerFault fault = {NULL, NULL};
	char	   *hello = psprintf("{\"hello\":1,\"settings\":{\"http\":\"http://own.example/\",\"hosts\":[\"*.a.example\","
								 "\"b.a.example\",\"*.c.a.example\",\"d.example\",\"own.example\"],\"secret_file\":\"%s\","
								 "\"secret_files\":%s}}", path, files);
	HttpSettings *settings = http_settings_new(hello, &fault);

	pfree(hello);
	pfree(fault.setting);
	pfree(fault.reason);
	return settings;
}

/* pattern NULL: the handler's own */
static void
expect_keys(const HttpSettings *settings, const char *text, const char *pattern)
{
	const HttpKeys *expected = settings->keys;
	HttpUrl		url;

	assert_null(http_url_parse(text, &url));
	for (int i = 0; pattern != NULL && i < settings->nhost_keys; i++)
		if (strcmp(settings->host_keys[i].pattern, pattern) == 0)
			expected = settings->host_keys[i].keys;
	assert_ptr_equal(http_settings_keys(settings, &url), expected);
	http_url_clear(&url);
}

static void
test_nearest_pattern(void **state)
{
	char	   *files = psprintf("{\"b.a.example\":\"%s\",\"*.a.example\":\"%s\",\"*.c.a.example\":\"%s\"}",
								 path, path, path);
	HttpSettings *settings = read_settings(files);

	pfree(files);
	assert_non_null(settings);
	assert_int_equal(settings->nhost_keys, 3);
	expect_keys(settings, "https://b.a.example/", "b.a.example");
	expect_keys(settings, "https://x.a.example/", "*.a.example");
	expect_keys(settings, "https://x.c.a.example/", "*.c.a.example");
	expect_keys(settings, "https://d.example/", NULL);
	expect_keys(settings, "http://own.example/", NULL);
	expect_keys(settings, "http://b.a.example/", NULL);
	http_settings_free(settings);
}

static void
test_refused(void **state)
{
	char	   *files = psprintf("{\"other.example\":\"%s\"}", path);

	assert_null(read_settings(files));
	pfree(files);
	assert_null(read_settings("{\"d.example\":\"/nonexistent\"}"));
	assert_null(read_settings("{\"d.example\":7}"));
}

static void
expect_redacted(const HttpSettings *settings, const char *answer, const char *expected)
{
	char	   *text = http_settings_redact(settings, pstrdup(answer));

	assert_string_equal(text, expected);
	pfree(text);
}

static void
test_secrets_of_headers_are_hidden(void **state)
{
	char	   *lines[] = {"Authorization: Bearer token-of-some-length", "X-Key:another-secret", "X-Version: 7",
	"Cookie: session=first-of-two; token=\"second-of-two==\"", NULL};
	HttpSettings settings = {.headers = lines};

	expect_redacted(&settings, "wrong: Bearer token-of-some-length", "wrong: Bearer ***");
	expect_redacted(&settings, "another-secret, token-of-some-length, another-secret", "***, ***, ***");
	expect_redacted(&settings, "version 7 of X-Key is wrong", "version 7 of X-Key is wrong");
	expect_redacted(&settings, "cookies: session=first-of-two; token=second-of-two==", "cookies: session=***; token=***==");
	settings.headers = NULL;
	expect_redacted(&settings, "another-secret", "another-secret");
}

static int
set_up(void **state)
{
	int			fd = mkstemp(path);

	if (fd < 0 || write(fd, "0123456789abcdef", 16) != 16)
		return -1;
	return close(fd);
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
		cmocka_unit_test(test_nearest_pattern),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_secrets_of_headers_are_hidden),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
