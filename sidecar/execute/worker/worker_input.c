/*-------------------------------------------------------------------------
 *
 * worker_input.c
 *		The input of a worker process, and when it may be written.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "execute/worker/worker_input.h"

bool
worker_input_is_of_another(const WorkerInput *input, int64 incarnation)
{
	return input->given_under != 0 && input->given_under != incarnation;
}

bool
worker_input_is_read(const WorkerInput *input)
{
	int			unread;

	return input->pipe->fd >= 0 && lines_unwritten(&input->lines) == 0 &&
		ioctl(input->pipe->fd, FIONREAD, &unread) == 0 && unread == 0;
}

/* Reads what is left in the pipe; returns its length. */
static int64
take_back(int fd)
{
	static char block[64 * 1024];
	char		path[64];
	int64		taken = 0;
	ssize_t		n;
	int			reader;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (reader < 0)
		return 0;
	while ((n = read(reader, block, sizeof(block))) > 0)
		taken += n;
	close(reader);
	return taken;
}

void
worker_input_close(WorkerInput *input)
{
	if (input->pipe->fd < 0)
		return;
	input->taken_back = take_back(input->pipe->fd);
	input->lines.sent -= input->taken_back;
	spawn_pipe_close(input->pipe);
}

void
worker_input_hold(WorkerInput *input)
{
	if (input->pipe->io)
		loop_io_want(input->pipe->io, 0);
}

LinesResult
worker_input_flush(WorkerInput *input, Loop *loop, LoopIoFn on_writable, void *arg)
{
	const RunnerGate *gate = input->gate;
	LinesResult result;

	if (input->pipe->fd < 0 || lines_unwritten(&input->lines) == 0)
		return LINES_OK;
	if (worker_input_is_of_another(input, gate->incarnation(gate->arg)))
	{
		worker_input_hold(input);
		return LINES_LATER;
	}
	result = lines_write(&input->lines, input->pipe->fd);
	if (result == LINES_CLOSED)
		worker_input_close(input);
	else if (result == LINES_LATER)
		spawn_pipe_watch(input->pipe, loop, LOOP_WRITE, on_writable, arg);
	else
	{
		input->given_under = 0;
		worker_input_hold(input);
	}
	return result;
}

void
worker_input_reset(WorkerInput *input)
{
	line_writer_reset(&input->lines);
	input->given_under = 0;
	input->taken_back = 0;
}
