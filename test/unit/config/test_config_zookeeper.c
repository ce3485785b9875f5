/*-------------------------------------------------------------------------
 *
 * test_config_zookeeper.c
 *		The section of ZooKeeper, and the file that it names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>

#include "config_text.h"

static char digest[80];

static void
write_digest(const char *text)
{
	int			fd = open(digest, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Writes a configuration with the line in its section "zookeeper". */
static char *
section_with(const char *line)
{
	return psprintf("leader: zookeeper\n"
					"zookeeper:\n"
					"  servers: [\"zk1:2181\"]\n"
					"  group: payments\n"
					"  %s\n" HANDLERS, line);
}

static void
expect_error(const char *expected, const char *line)
{
	char	   *text = section_with(line);

	expect_error_part(text, expected);
	pfree(text);
}

static void
test_digest(void **state)
{
	char	   *line = psprintf("digest_file: %s", digest);
	char	   *text = section_with(line);
	Config	   *config;

	write_digest("twtasks:geheim\n");
	config = read_text(text);
	assert_string_equal(config->zookeeper.digest_file, digest);
	options_free(&config_section, config);
	pfree(text);
	pfree(line);
}

/* A fault names the line, and quotes nothing of the file. */
static void
test_digest_errors(void **state)
{
	char	   *line = psprintf("digest_file: %s", digest);

	expect_error(":5:16: zookeeper.digest_file: could not open the file: No such file", line);
	write_digest("");
	expect_error(":5:16: zookeeper.digest_file: the file is empty", line);
	write_digest("geheim\n");
	expect_error(":5:16: zookeeper.digest_file: the first line of the file must be USER:PASSWORD", line);
	write_digest("twtasks:geheim\n");
	chmod(digest, 0644);
	expect_error(":5:16: zookeeper.digest_file: the file must be root's or the daemon's own", line);
	chmod(digest, 0600);
	pfree(line);
}

static void
test_errors(void **state)
{
	expect_error("zookeeper.digest_file: invalid value \"x\": the path must be absolute", "digest_file: x");
	expect_error("zookeeper.session: ", "session: 1ms");
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(digest, sizeof(digest), "%s/digest", directory);
	return 0;
}

static int
tear_down(void **state)
{
	unlink(digest);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digest_errors),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
