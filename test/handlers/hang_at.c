/*
 * hang_at.c -- lets a process hang where it opens a file or asks for its rights, as
 * on a mount whose server is gone; built by a test, and put before the process by
 * LD_PRELOAD.
 *
 *	HANG_AT		pairs of a path and a flag, all separated by spaces.  The flag is a file:
 *				the process hangs at the path as long as it is there, and appends a line
 *				to it before
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*OpenFn) (const char *path, int flags, mode_t mode);
typedef int (*AccessFn) (const char *path, int how);

static int
real_access(const char *path, int how)
{
	return ((AccessFn) dlsym(RTLD_NEXT, "access")) (path, how);
}

static void
hang_while(const char *flag)
{
	int			fd = ((OpenFn) dlsym(RTLD_NEXT, "open")) (flag, O_WRONLY | O_APPEND, 0);

	if (fd < 0)
		return;
	(void) !write(fd, "hangs\n", 6);
	close(fd);
	while (real_access(flag, F_OK) == 0)
		usleep(20000);
}

static void
hang_at(const char *path)
{
	const char *pairs = getenv("HANG_AT");
	char		at[PATH_MAX];
	char		flag[PATH_MAX];
	int			len;

	for (; pairs != NULL && sscanf(pairs, "%4095s %4095s %n", at, flag, &len) == 2; pairs += len)
		if (strcmp(path, at) == 0)
			hang_while(flag);
}

int
open(const char *path, int flags,...)
{
	va_list		args;
	mode_t		mode = 0;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	hang_at(path);
	return ((OpenFn) dlsym(RTLD_NEXT, "open")) (path, flags, mode);
}

int			open64(const char *path, int flags,...) __attribute__((alias("open")));

int
access(const char *path, int how)
{
	hang_at(path);
	return real_access(path, how);
}
