/*-------------------------------------------------------------------------
 *
 * helper_main.c
 *		The frame of a worker or helper of the sidecar: its hello, lines in, lines out,
 *		its end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/log.h"
#include "base/program.h"
#include "workers/lib/helper_main.h"

/* Limits the blocks read in one turn, so that answers are handled in between. */
#define READS_A_TURN 4

struct HelperMain
{
	const HelperUse *use;
	Loop	   *loop;
	LoopIo	   *in;
	LoopIo	   *out;
	LineReader	from_sidecar;
	LineWriter	to_sidecar;
	void	   *own;			/* NULL: no settings yet */
	bool		is_leaving;
	int			status;
};

Loop *
helper_main_loop(HelperMain *frame)
{
	return frame->loop;
}

StringInfo
helper_main_out(HelperMain *frame)
{
	return &frame->to_sidecar.bytes;
}

void
helper_main_stop(HelperMain *frame)
{
	loop_stop(frame->loop);
}

static void
leave(HelperMain *frame)
{
	if (frame->use->leave == NULL)
		helper_main_stop(frame);
	else
		frame->use->leave(frame->own);
}

void
helper_main_leave(HelperMain *frame, int status)
{
	if (frame->is_leaving)
		return;
	frame->is_leaving = true;
	frame->status = status;
	loop_io_want(frame->in, 0);
	if (frame->own != NULL)
		leave(frame);
}

static void
on_term(void *arg)
{
	HelperMain *frame = arg;

	if (frame->is_leaving)
		helper_main_stop(frame);
	else
		helper_main_leave(frame, EXIT_FINE);
}

void
helper_main_take_term(HelperMain *frame)
{
	loop_on_signal(frame->loop, SIGTERM, on_term, frame);
}

/* ---- lines ---- */

/* A sidecar that has closed the pipe ends the input too. */
static void
flush(void *arg)
{
	HelperMain *frame = arg;

	if (lines_unwritten(&frame->to_sidecar) > 0)
		loop_io_want(frame->out, lines_write(&frame->to_sidecar, STDOUT_FILENO) == LINES_LATER ?
					 LOOP_WRITE : 0);
}

static void
take_hello(HelperMain *frame, const char *line)
{
	void	   *settings = worker_hello_read(&frame->use->hello, line, &frame->to_sidecar.bytes);

	if (settings != NULL)
	{
		frame->own = frame->use->begin(frame, settings);
		loop_on_turn(frame->loop, flush, frame);	/* after those of begin() */
		if (frame->is_leaving)
			leave(frame);
	}
	else
	{
		helper_main_leave(frame, EXIT_BAD_CONFIG);
		helper_main_stop(frame);
	}
}

static void
take_later_hello(HelperMain *frame, const char *line)
{
	void	   *settings = worker_hello_read(&frame->use->hello, line, &frame->to_sidecar.bytes);

	if (settings != NULL)
		frame->use->again(frame->own, settings);
}

static void
take_line(HelperMain *frame, const char *line, size_t len)
{
	static const char hello[] = "{\"hello\"";

	if (strcmp(line, "{\"alive\":1}") == 0)
		appendStringInfo(helper_main_out(frame), "%s\n", line);
	if (frame->own == NULL)
		take_hello(frame, line);
	else if (frame->use->again != NULL && strncmp(line, hello, strlen(hello)) == 0)
		take_later_hello(frame, line);
	else if (frame->use->on_line != NULL)
		frame->use->on_line(frame->own, line, len);
}

static void
on_readable(void *arg, int ready)
{
	HelperMain *frame = arg;
	LinesResult result = LINES_OK;
	char	   *line;
	size_t		len;

	(void) ready;
	for (int i = 0; i < READS_A_TURN && result == LINES_OK; i++)
	{
		result = lines_read(&frame->from_sidecar, STDIN_FILENO);
		while (!frame->is_leaving && (line = lines_next(&frame->from_sidecar, &len)) != NULL)
			take_line(frame, line, len);
	}
	if (result == LINES_CLOSED && frame->own != NULL)
		helper_main_leave(frame, EXIT_FINE);
	else if (result == LINES_CLOSED)
		helper_main_stop(frame);
}

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	flush(arg);
}

/* ---- the program ---- */

/* The end of the process frees all. */
static int
run(const HelperUse *use)
{
	HelperMain	frame = {.use = use, .loop = loop_new()};

	log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "");
	if (frame.loop == NULL || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0 ||
		fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) != 0)
	{
		log_line(TWT_LOG_FATAL, use->component, "could not watch the input: %m");
		return EXIT_NO_RESOURCES;
	}
	line_reader_init(&frame.from_sidecar);
	line_writer_init(&frame.to_sidecar);
	frame.in = loop_io_new(frame.loop, STDIN_FILENO, on_readable, &frame);
	frame.out = loop_io_new(frame.loop, STDOUT_FILENO, on_writable, &frame);
	loop_io_want(frame.in, LOOP_READ);
	loop_run(frame.loop);
	flush(&frame);
	program_exit(frame.status);
}

int
helper_main(const HelperUse *use, int argc, char **argv)
{
	program_begin();
	program_prepare();
	return argc == 1 ? run(use) : worker_hello_options(&use->hello, argc, argv);
}
