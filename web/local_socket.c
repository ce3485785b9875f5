#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "web/local_socket.h"

#define MODE 0660

struct LocalSocket
{
	char	   *path;
	int			lock;			/* -1: does not listen */
	struct stat file;
	bool		is_down;
};

const char *
local_socket_check(const char *path)
{
	struct sockaddr_un address;

	if (path[0] != '/')
		return "it must be an absolute path";
	return strlen(path) >= sizeof(address.sun_path) ? "it must have at most 107 bytes" : NULL;
}

static struct sockaddr_un
address_of(const LocalSocket *local)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strlcpy(address.sun_path, local->path, sizeof(address.sun_path));
	return address;
}

static int
open_lock(const LocalSocket *local)
{
	char	   *path = psprintf("%s.lock", local->path);
	int			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	pfree(path);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	errno = EADDRINUSE;
	return -1;
}

/* Only a refused connection shows that nobody listens. */
static bool
is_stale(const LocalSocket *local)
{
	struct sockaddr_un address = address_of(local);
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool		is_refused;

	if (fd < 0)
		return false;
	is_refused = connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0 &&
		errno == ECONNREFUSED;
	close(fd);
	return is_refused;
}

/* Returns false, with errno, if something is there that is not ours to remove. */
static bool
make_room(const LocalSocket *local)
{
	struct stat file;

	if (lstat(local->path, &file) != 0)
		return errno == ENOENT;
	if (!S_ISSOCK(file.st_mode))
		errno = EEXIST;
	else if (!is_stale(local))
		errno = EADDRINUSE;
	else
		return unlink(local->path) == 0;
	return false;
}

/* Nobody can connect before the file has its mode. */
static int
open_socket(LocalSocket *local)
{
	struct sockaddr_un address = address_of(local);
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int			error;

	if (fd < 0 || (bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0 &&
				   chmod(local->path, MODE) == 0 && lstat(local->path, &local->file) == 0 &&
				   listen(fd, SOMAXCONN) == 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
listen_locked(LocalSocket *local)
{
	int			fd = make_room(local) ? open_socket(local) : -1;
	int			error = errno;

	if (fd >= 0)
		return fd;
	close(local->lock);
	local->lock = -1;
	errno = error;
	return -1;
}

/* ---- the whole ---- */

LocalSocket *
local_socket_new(const char *path)
{
	LocalSocket *local = palloc0(sizeof(LocalSocket));

	local->path = pstrdup(path);
	local->lock = -1;
	return local;
}

int
local_socket_listen(LocalSocket *local)
{
	int			fd = -1;

	local->lock = open_lock(local);
	if (local->lock >= 0)
		fd = listen_locked(local);
	if (fd >= 0)
		log_line(TWT_LOG_INFO, "http", "listening on socket %s", local->path);
	else if (!local->is_down)
		log_line(TWT_LOG_ERROR, "http", "could not listen on socket %s: %m; will try again", local->path);
	local->is_down = fd < 0;
	return fd;
}

void
local_socket_remove(LocalSocket *local)
{
	struct stat file;

	if (local->lock < 0)
		return;
	if (lstat(local->path, &file) == 0 && file.st_dev == local->file.st_dev &&
		file.st_ino == local->file.st_ino)
		(void) unlink(local->path);
	close(local->lock);
	local->lock = -1;
}

void
local_socket_free(LocalSocket *local)
{
	local_socket_remove(local);
	pfree(local->path);
	pfree(local);
}
