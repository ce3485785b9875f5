/*
 * full_disk.c -- a disk that is full as long as the file $FULL_DISK is there: nothing
 * that would make a file longer is written; built by a test, and put before a server by
 * LD_PRELOAD.
 *
 * As on a disk that is really full, a write over a part of a file succeeds.  The standard
 * output and error of the process are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Sets errno if the disk is full and this write would need more of it. */
static int
is_full(int fd, off_t end)
{
	const char *path = getenv("FULL_DISK");
	int			before = errno;
	struct stat st;

	if (fd <= STDERR_FILENO || path == NULL || access(path, F_OK) != 0 || fstat(fd, &st) != 0 ||
		!S_ISREG(st.st_mode) || end <= st.st_size)
	{
		errno = before;
		return 0;
	}
	errno = ENOSPC;
	return 1;
}

static off_t
length_of(const struct iovec *parts, int nparts)
{
	off_t		length = 0;

	for (int i = 0; i < nparts; i++)
		length += (off_t) parts[i].iov_len;
	return length;
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	static ssize_t (*next) (int, const void *, size_t);
	off_t		at = fd > STDERR_FILENO ? lseek(fd, 0, SEEK_CUR) : 0;

	if (next == NULL)
		next = (ssize_t (*) (int, const void *, size_t)) dlsym(RTLD_NEXT, "write");
	return at >= 0 && is_full(fd, at + (off_t) len) ? -1 : next(fd, bytes, len);
}

ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	static ssize_t (*next) (int, const void *, size_t, off_t);

	if (next == NULL)
		next = (ssize_t (*) (int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");
	return is_full(fd, at + (off_t) len) ? -1 : next(fd, bytes, len, at);
}

ssize_t
pwritev(int fd, const struct iovec *parts, int nparts, off_t at)
{
	static ssize_t (*next) (int, const struct iovec *, int, off_t);

	if (next == NULL)
		next = (ssize_t (*) (int, const struct iovec *, int, off_t)) dlsym(RTLD_NEXT, "pwritev");
	return is_full(fd, at + length_of(parts, nparts)) ? -1 : next(fd, parts, nparts, at);
}

int
posix_fallocate(int fd, off_t at, off_t len)
{
	static int	(*next) (int, off_t, off_t);

	if (next == NULL)
		next = (int (*) (int, off_t, off_t)) dlsym(RTLD_NEXT, "posix_fallocate");
	return is_full(fd, at + len) ? ENOSPC : next(fd, at, len);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	return pwrite(fd, bytes, len, at);
}

ssize_t
pwritev64(int fd, const struct iovec *parts, int nparts, off64_t at)
{
	return pwritev(fd, parts, nparts, at);
}

int
posix_fallocate64(int fd, off64_t at, off64_t len)
{
	return posix_fallocate(fd, at, len);
}
