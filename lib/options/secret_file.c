#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "options/secret_file.h"

#define FILE_MAX_BYTES (64 * 1024)

/* The mode may have only the bits that the server allows for its own keys. */
static bool
is_safe(const struct stat *status)
{
	mode_t		forbidden = status->st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO :
		S_IRWXG | S_IRWXO;

	return (status->st_uid == 0 || status->st_uid == geteuid()) &&
		(status->st_mode & forbidden) == 0;
}

/* Returns the fault of the file; NULL if there is none. */
static char *
judge_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return psprintf("could not look at the file: %s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return pstrdup("it is not a regular file");
	if (!is_safe(&status))
		return pstrdup("the file must be root's or the daemon's own, and nobody else may read it");
	if (status.st_size > FILE_MAX_BYTES)
		return pstrdup("the file is too large");
	return NULL;
}

static char *
read_text(int fd, char **reason)
{
	char	   *text = palloc0(FILE_MAX_BYTES + 1);
	size_t		len = 0;
	ssize_t		n;

	while (len < FILE_MAX_BYTES &&
		   (n = read(fd, text + len, FILE_MAX_BYTES - len)) != 0)
	{
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
		{
			*reason = psprintf("could not read the file: %s", strerror(errno));
			break;
		}
		len += n;
	}
	if (*reason == NULL && strlen(text) != len)
		*reason = pstrdup("the file holds a NUL character");
	return text;
}

static int
count_lines(const char *text)
{
	int			n = 1;

	for (; *text; text++)
		n += *text == '\n' || *text == '\r';
	return n;
}

bool
secret_file_is_comment(const char *line)
{
	return line[0] == '\0' || line[0] == '#';
}

static char **
split_lines(char *text, bool is_all)
{
	char	  **lines = palloc0((count_lines(text) + 1) * sizeof(char *));
	int			n = 0;
	char	   *line;

	while ((line = strsep(&text, is_all ? "\n" : "\r\n")) != NULL)
	{
		size_t		len;

		line += strspn(line, " \t");
		len = strlen(line);
		while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
			line[--len] = '\0';
		if (is_all || !secret_file_is_comment(line))
			lines[n++] = pstrdup(line);
	}
	return lines;
}

static char **
read_lines(int fd, bool is_all, char **reason)
{
	char	   *text = read_text(fd, reason);
	char	  **lines = *reason == NULL ? split_lines(text, is_all) : NULL;

	explicit_bzero(text, FILE_MAX_BYTES);
	pfree(text);
	return lines;
}

static char **
read_file(const char *path, bool is_all, char **reason)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char	  **lines = NULL;

	if (fd < 0)
	{
		*reason = psprintf("could not open the file: %s", strerror(errno));
		return NULL;
	}
	*reason = judge_file(fd);
	if (*reason == NULL)
		lines = read_lines(fd, is_all, reason);
	close(fd);
	return lines;
}

char	  **
secret_file_read_all(const char *path, char **reason)
{
	return read_file(path, true, reason);
}

char	  **
secret_file_read(const char *path, char **reason)
{
	char	  **lines = read_file(path, false, reason);

	if (lines == NULL || lines[0] != NULL)
		return lines;
	pfree(lines);
	*reason = pstrdup("the file is empty");
	return NULL;
}

char *
secret_file_stamp(const char *paths)
{
	json_t	   *object = json_loads(paths != NULL ? paths : "{}", 0, NULL);
	StringInfoData stamp;
	const char *name;
	json_t	   *path;
	struct stat status;

	initStringInfo(&stamp);
	json_object_foreach(object, name, path)
		if (stat(json_string_value(path) != NULL ? json_string_value(path) : "", &status) == 0)
			appendStringInfo(&stamp, "%s:%llu.%lld.%lld.%09ld ", name, (unsigned long long) status.st_ino,
							 (long long) status.st_size, (long long) status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
	json_decref(object);
	return stamp.data;
}

void
secret_file_forget(char **lines)
{
	for (int i = 0; lines != NULL && lines[i] != NULL; i++)
		text_forget(lines[i]);
	pfree(lines);
}

bool
secret_is_same(const char *a, const char *b)
{
	size_t		len = strlen(a);
	unsigned char differs = len != strlen(b);

	for (size_t i = 0; i < strlen(b); i++)
		differs |= a[len == 0 ? 0 : i % len] ^ b[i];
	return differs == 0;
}
