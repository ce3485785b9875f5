/*-------------------------------------------------------------------------
 *
 * web_config_text.h
 *		For the tests of twtasks-web's configuration: read what a string holds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WEB_CONFIG_TEXT_H
#define TWT_WEB_CONFIG_TEXT_H

#include "config_text.h"
#include "web/web_config.h"

/* Files of secrets, which the test names and writes. */
static char people[80];
static char tokens[80];

static inline void
write_secret(const char *path, const char *text)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* In the lines, @ stands for the file of people, and & for the one of tokens. */
static inline void *
read_lines(const char *lines, char **error)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *lines != '\0'; lines++)
		if (*lines == '@' || *lines == '&')
			appendStringInfoString(&text, *lines == '@' ? people : tokens);
		else
			appendStringInfoChar(&text, *lines);
	write_file(text.data, text.len);
	pfree(text.data);
	return options_read(&web_config_section, NULL, file, error);
}

static inline WebConfig *
read_web(const char *lines)
{
	char	   *error = NULL;
	WebConfig  *config = read_lines(lines, &error);

	if (config == NULL)
		fail_msg("refused: %s", error);
	return config;
}

static inline void
expect_error(const char *expected, const char *lines)
{
	char	   *error = NULL;

	assert_null(read_lines(lines, &error));
	if (strstr(error, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, error);
	pfree(error);
}

#endif							/* TWT_WEB_CONFIG_TEXT_H */
