/*-------------------------------------------------------------------------
 *
 * worker_output.c
 *		The output of a worker process: replies on stdout, and lines for the log
 *		on stderr.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"
#include "execute/worker/worker_output.h"

#define READ_BYTES (64 * 1024)

/* The most reads to empty a pipe whose process has exited. */
#define LAST_READS 16

/* The most bytes quoted from a line that is no reply. */
#define QUOTE_MAX 200

void
worker_output_init(WorkerOutput *output, const char *program)
{
	line_reader_init(&output->replies);
	output->log = worker_log_new(output->loop, program);
}

void
worker_output_clear(WorkerOutput *output)
{
	line_reader_clear(&output->replies);
	worker_log_free(output->log);
}

static void
take_line(WorkerOutput *output, const char *line, size_t len)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, len, &reply);

	if (error == NULL)
		output->events->on_reply(output->arg, &reply);
	else
		output->events->on_fault(output->arg, error, text_quote_line(line, len, QUOTE_MAX));
	pfree(error);
	worker_protocol_clear(&reply);
}

static void
take_long_line(WorkerOutput *output)
{
	WorkerReply reply;

	if (worker_protocol_decode_long(lines_skip(&output->replies), &reply))
		output->events->on_reply(output->arg, &reply);
	else
		output->events->on_fault(output->arg, "line is longer than 1 MB", NULL);
	worker_protocol_clear(&reply);
}

static void
take_lines(WorkerOutput *output)
{
	char	   *line;
	size_t		len;

	while ((line = lines_next(&output->replies, &len)))
		take_line(output, line, len);
	if (lines_unfinished(&output->replies) > WORKER_LINE_MAX)
		take_long_line(output);
}

/* Reads one block; false when there is none now. */
static bool
read_block(WorkerOutput *output)
{
	LinesResult result = lines_read(&output->replies, output->pipes->out.fd);

	if (result == LINES_OK)
		take_lines(output);
	else if (result == LINES_CLOSED)
		spawn_pipe_close(&output->pipes->out);
	return result == LINES_OK;
}

static void
on_stdout(void *arg, int ready)
{
	WorkerOutput *output = arg;

	(void) ready;
	read_block(output);
	if (output->pipes->out.fd < 0)
		output->events->on_closed(output->arg);
}

static void
on_stderr(void *arg, int ready)
{
	WorkerOutput *output = arg;
	static char block[READ_BYTES];
	ssize_t		n = read(output->pipes->err.fd, block, sizeof(block));

	(void) ready;
	if (n > 0)
		worker_log_add(output->log, output->pid, block, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&output->pipes->err);
}

void
worker_output_begin(WorkerOutput *output, int pid)
{
	output->pid = pid;
	worker_log_begin(output->log);
	line_reader_reset(&output->replies);
	spawn_pipe_watch(&output->pipes->out, output->loop, LOOP_READ, on_stdout, output);
	spawn_pipe_watch(&output->pipes->err, output->loop, LOOP_READ, on_stderr, output);
}

void
worker_output_end(WorkerOutput *output)
{
	int			reads = LAST_READS;

	while (output->pipes->out.fd >= 0 && reads-- > 0 && read_block(output))
		;
	if (output->pipes->err.fd >= 0)
		on_stderr(output, LOOP_READ);
	worker_log_end(output->log, output->pid);
}
