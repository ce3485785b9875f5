/*-------------------------------------------------------------------------
 *
 * door.c
 *		A short cut for a lone trigger: a named pipe to a waiting sidecar.
 *
 * A session keeps the last pipe that it wrote to.  So a session has at most
 * two descriptors here, which PostgreSQL does not count.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/settings.h"
#include "queue/door.h"

#define LINE_MAX_BYTES (TRIGGER_BUCKET_MAX + 1 + TRIGGER_TEXT_MAX + 1)

StaticAssertDecl(LINE_MAX_BYTES <= _POSIX_PIPE_BUF, "lines of the door must not mix");

/* This session's own pipe; the descriptor is open once a sidecar has read it. */
static bool has_pipe = false;
static int	own_fd = -1;

/* The last pipe that this session wrote to. */
static int	kept_pid = 0;
static int	kept_fd = -1;

static bool
is_wanted(void)
{
	return twt_door_directory[0] != '\0';
}

static void
path_of(int pid, char *path)
{
	snprintf(path, MAXPGPATH, "%s/" TRIGGER_PIPE "%d", twt_door_directory, pid);
}

static void
close_pipe(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Returns -1 if nobody reads the pipe.  Anything but a pipe, such as a link, was
 * not made by us.
 */
static int
open_pipe(int pid)
{
	char		path[MAXPGPATH];
	struct stat found;
	int			fd;

	path_of(pid, path);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISFIFO(found.st_mode)))
		close_pipe(&fd);
	return fd;
}

/* Why the server must not write there; NULL: it may. */
static const char *
fault_of_directory(void)
{
	struct stat found;

	if (lstat(twt_door_directory, &found) != 0)
		return strerror(errno);
	if (!S_ISDIR(found.st_mode))
		return "it is not a directory";
	if (found.st_uid != geteuid())
		return "the server's user does not own it";
	if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others than the server's user may write to it";
	return access(twt_door_directory, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

/* Anything but a pipe is not ours. */
static void
remove_pipe(const char *path)
{
	struct stat found;

	if (lstat(path, &found) == 0 && S_ISFIFO(found.st_mode))
		(void) unlink(path);
}

static void
remove_own_pipe(int code, Datum arg)
{
	char		path[MAXPGPATH];

	path_of(MyProcPid, path);
	remove_pipe(path);
	has_pipe = false;
	close_pipe(&own_fd);
}

/*
 * Replaces a pipe that a session of that number left behind when the server
 * crashed.  The umask would take the group's right to read.
 */
static bool
make_pipe(const char *path)
{
	remove_pipe(path);
	return mkfifo(path, 0600) == 0 && chmod(path, 0640) == 0;
}

void
door_make(void)
{
	char		path[MAXPGPATH];
	const char *fault;

	if (has_pipe || !is_wanted() || RecoveryInProgress())
		return;
	path_of(MyProcPid, path);
	fault = fault_of_directory();
	if (fault == NULL && !make_pipe(path))
		fault = strerror(errno);
	if (fault == NULL)
	{
		has_pipe = true;
		on_proc_exit(remove_own_pipe, 0);
		return;
	}
	ereport(LOG,
			(errcode(ERRCODE_CONFIG_FILE_ERROR),
			 errmsg("could not use twtasks.door_directory \"%s\": %s", twt_door_directory, fault),
			 errhint("Let it be a directory that the server's user owns and nobody else may write to.")));
}

void
door_look(void)
{
	if (own_fd < 0 && has_pipe)
		own_fd = open_pipe(MyProcPid);
}

bool
door_is_read(void)
{
	return own_fd >= 0;
}

/* A function of a user may have changed what the server sets. */
static bool
survives_sigpipe(void)
{
	struct sigaction action;

	return sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void
door_pass(int pid, const char *bucket, const TaskTrigger *trigger)
{
	char		line[LINE_MAX_BYTES];
	size_t		len = strlcpy(line, bucket, TRIGGER_BUCKET_MAX + 1);

	if (!survives_sigpipe())
		return;
	if (kept_pid != pid)
	{
		close_pipe(&kept_fd);
		kept_fd = open_pipe(pid);
		kept_pid = kept_fd < 0 ? 0 : pid;
	}
	if (kept_fd < 0)
		return;
	line[len++] = ' ';
	len += trigger_encode(trigger, line + len);
	line[len++] = '\n';
	if (write(kept_fd, line, len) >= 0 || errno == EAGAIN)
		return;
	close_pipe(&kept_fd);
	kept_pid = 0;
}
