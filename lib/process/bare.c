/*-------------------------------------------------------------------------
 *
 * bare.c
 *		A program that gets a text on its stdin, and nothing of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process/bare.h"

int
bare_input(const char *text)
{
	int			fd = memfd_create("input", MFD_CLOEXEC);
	size_t		len = strlen(text);

	if (fd >= 0 && (write(fd, text, len) != (ssize_t) len || lseek(fd, 0, SEEK_SET) != 0))
	{
		close(fd);
		fd = -1;
	}
	return fd;
}

void
bare_become(char *const *argv, int in, int out, pid_t parent)
{
	char	   *environment[] = {NULL};
	sigset_t	none;

	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
		signal(SIGPIPE, SIG_DFL) != SIG_ERR && sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
		dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execve(argv[0], argv, environment);
	_exit(127);
}
