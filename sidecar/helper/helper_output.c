/*-------------------------------------------------------------------------
 *
 * helper_output.c
 *		The output of a process that stays: lines on stdout, and lines for the log
 *		on stderr.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <unistd.h>

#include "helper/helper_output.h"
#include "protocol/worker_protocol.h"

#define READ_BYTES (64 * 1024)

/* The most reads to empty a pipe whose process has exited. */
#define LAST_READS 16

void
helper_output_init(HelperOutput *output, const char *program)
{
	line_reader_init(&output->lines);
	output->log = helper_log_new(output->loop, program);
}

void
helper_output_clear(HelperOutput *output)
{
	line_reader_clear(&output->lines);
	helper_log_free(output->log);
}

static void
take_lines(HelperOutput *output)
{
	char	   *line;
	size_t		len;

	while ((line = lines_next(&output->lines, &len)))
		output->events->on_line(output->arg, line, len);
	if (lines_unfinished(&output->lines) > WORKER_LINE_MAX)
		output->events->on_long_line(output->arg, lines_skip(&output->lines));
}

/* Reads one block; false when there is none now. */
static bool
read_block(HelperOutput *output)
{
	LinesResult result = lines_read(&output->lines, output->pipes->out.fd);

	if (result == LINES_OK)
		take_lines(output);
	else if (result == LINES_CLOSED)
		spawn_pipe_close(&output->pipes->out);
	return result == LINES_OK;
}

static void
on_stdout(void *arg, int ready)
{
	HelperOutput *output = arg;

	(void) ready;
	read_block(output);
	if (output->pipes->out.fd < 0)
		output->events->on_closed(output->arg);
}

static void
on_stderr(void *arg, int ready)
{
	HelperOutput *output = arg;
	static char block[READ_BYTES];
	ssize_t		n = read(output->pipes->err.fd, block, sizeof(block));

	(void) ready;
	if (n > 0)
		helper_log_add(output->log, spawn_pid(output->child), block, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&output->pipes->err);
}

void
helper_output_begin(HelperOutput *output, Child *child)
{
	output->child = child;
	helper_log_begin(output->log);
	line_reader_reset(&output->lines);
	spawn_pipe_watch(&output->pipes->out, output->loop, LOOP_READ, on_stdout, output);
	if (output->pipes->err.fd >= 0)
		spawn_pipe_watch(&output->pipes->err, output->loop, LOOP_READ, on_stderr, output);
}

void
helper_output_end(HelperOutput *output)
{
	int			reads = LAST_READS;

	while (output->pipes->out.fd >= 0 && reads-- > 0 && read_block(output))
		;
	if (output->pipes->err.fd >= 0)
		on_stderr(output, LOOP_READ);
	helper_log_end(output->log, spawn_pid(output->child));
}
