/*-------------------------------------------------------------------------
 *
 * worker_input.c
 *		The input of a worker process, and when it may be written.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/worker/worker_input.h"

bool
worker_input_is_of_another(const WorkerInput *input, int64 incarnation)
{
	return input->given_under != 0 && input->given_under != incarnation;
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
		spawn_pipe_close(input->pipe);
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
}
