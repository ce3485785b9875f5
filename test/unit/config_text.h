/*-------------------------------------------------------------------------
 *
 * config_text.h
 *		For the tests of the configuration: read what a string holds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_TEXT_H
#define TWT_CONFIG_TEXT_H

#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "execute/worker/http_options.h"
#include "execute/runner.h"

/* A handler, for a file that is about something else. */
#define HANDLERS "handlers: [{types: [A], noop: true}]\n"

/* The same with more keys. */
#define NOOP(more) "handlers: [{types: [A], noop: true, " more "}]\n"

static char directory[] = "/tmp/twtasks_test_config.XXXXXX";
static char file[64];

static inline void
write_file(const char *text, size_t len)
{
	int			fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

/* The configuration in text, which must be right. */
static inline Config *
read_text(const char *text)
{
	char	   *error = NULL;
	Config	   *config;

	write_file(text, strlen(text));
	config = options_read(&config_section, handler_kinds, file, &error);
	if (config == NULL)
		fail_msg("refused: %s", error);
	return config;
}

/* Returns the file's fault, without the file's name; the caller frees it. */
static inline char *
file_error(void)
{
	char	   *error = NULL;
	char	   *rest;
	Config	   *config = options_read(&config_section, handler_kinds, file, &error);

	assert_null(config);
	assert_non_null(error);
	assert_null(strchr(error, '\n'));
	if (strncmp(error, file, strlen(file)) != 0)
		return error;
	rest = pstrdup(error + strlen(file));
	pfree(error);
	return rest;
}

/* The fault of the file, as it was written, has this part. */
static inline void
expect_file_error(const char *expected)
{
	char	   *error = file_error();

	if (strstr(error, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, error);
	pfree(error);
}

static inline void
expect_error_part(const char *text, const char *expected)
{
	write_file(text, strlen(text));
	expect_file_error(expected);
}

static inline int
make_directory(void **state)
{
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/twtasks.yaml", directory);
	return 0;
}

static inline int
remove_directory(void **state)
{
	unlink(file);
	return rmdir(directory);
}

#endif							/* TWT_CONFIG_TEXT_H */
