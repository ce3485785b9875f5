/*-------------------------------------------------------------------------
 *
 * worker_main.c
 *		The frame of a bundled worker: lines in, lines out.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/program.h"
#include "workers/lib/task_line.h"
#include "workers/lib/worker_main.h"

/*
 * Limits the blocks read in one turn, so that answers are handled in between.
 */
#define READS_A_TURN 4

typedef struct Worker
{
	const WorkerProgram *program;
	void	   *own;			/* the program's part */
	Loop	   *loop;
	LoopIo	   *in;
	LoopIo	   *out;
	LineReader	from_sidecar;
	LineWriter	to_sidecar;
	bool		has_settings;
} Worker;

static void
take_hello(Worker *worker, const char *line)
{
	void	   *settings = worker_hello_read(&worker->program->hello, line, &worker->to_sidecar.bytes);

	if (settings == NULL)
		return;
	worker->program->set(worker->own, settings);
	worker->has_settings = true;
}

static void
cancel(Worker *worker, const char *line)
{
	json_t	   *object = json_loads(line, 0, NULL);
	const char *id = json_string_value(json_object_get(object, "cancel"));
	const char *reason = json_string_value(json_object_get(object, "reason"));

	if (id != NULL)
		worker->program->cancel(worker->own, id,
								json_integer_value(json_object_get(object, "version")),
								reason != NULL ? reason : "cancelled");
	json_decref(object);
}

static bool
begins_with(const char *line, const char *text)
{
	return strncmp(line, text, strlen(text)) == 0;
}

/* Ignores unknown kinds of lines, which a newer sidecar may send. */
static void
on_line(Worker *worker, const char *line)
{
	int64		start_by_us;
	Task	   *task;

	if (begins_with(line, "{\"hello\""))
		take_hello(worker, line);
	else if (begins_with(line, "{\"cancel\""))
		cancel(worker, line);
	else if (worker->has_settings && (task = task_line_read(line, &start_by_us)) != NULL)
		worker->program->start(worker->own, task, start_by_us);
}

static void
on_readable(void *arg, int ready)
{
	Worker	   *worker = arg;
	LinesResult result = LINES_OK;
	char	   *line;
	size_t		len;

	(void) ready;
	for (int i = 0; i < READS_A_TURN && result == LINES_OK; i++)
	{
		result = lines_read(&worker->from_sidecar, STDIN_FILENO);
		while ((line = lines_next(&worker->from_sidecar, &len)) != NULL)
			on_line(worker, line);
	}
	if (result == LINES_CLOSED)
		loop_stop(worker->loop);
}

static void
flush(Worker *worker)
{
	if (lines_unwritten(&worker->to_sidecar) == 0)
		return;
	switch (lines_write(&worker->to_sidecar, STDOUT_FILENO))
	{
		case LINES_OK:
			loop_io_want(worker->out, 0);
			break;
		case LINES_LATER:
			loop_io_want(worker->out, LOOP_WRITE);
			break;
		case LINES_CLOSED:
			loop_stop(worker->loop);
	}
}

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	flush(arg);
}

static void
on_turn(void *arg)
{
	flush(arg);
}

static void
free_parts(Worker *worker)
{
	if (worker->program->close != NULL)
		worker->program->close(worker->own);
	loop_off_turn(worker->loop, on_turn, worker);
	loop_io_free(worker->in);
	loop_io_free(worker->out);
	loop_free(worker->loop);
	line_reader_clear(&worker->from_sidecar);
	line_writer_clear(&worker->to_sidecar);
}

static int
run(const WorkerProgram *program)
{
	Worker		worker = {.program = program, .loop = loop_new()};

	if (worker.loop == NULL ||
		fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0 ||
		fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) != 0)
	{
		perror(program->hello.name);
		return 1;
	}
	line_reader_init(&worker.from_sidecar);
	line_writer_init(&worker.to_sidecar);
	worker.own = program->open(worker.loop, &worker.to_sidecar.bytes);
	worker.in = loop_io_new(worker.loop, STDIN_FILENO, on_readable, &worker);
	worker.out = loop_io_new(worker.loop, STDOUT_FILENO, on_writable, &worker);
	loop_on_turn(worker.loop, on_turn, &worker);
	loop_io_want(worker.in, LOOP_READ);
	loop_run(worker.loop);
	free_parts(&worker);
	return 0;
}

int
worker_main(const WorkerProgram *program, int argc, char **argv)
{
	program_begin();
	program_prepare();
	program_raise_descriptors();
	return argc == 1 ? run(program) : worker_hello_options(&program->hello, argc, argv);
}
