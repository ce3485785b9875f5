/*-------------------------------------------------------------------------
 *
 * fuzz_task_line.c
 *		The line of a task, written and read; lines in pieces; output that is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "base/lines.h"
#include "base/output.h"
#include "base/text.h"
#include "common/places.h"
#include "input.h"
#include "protocol/worker_input.h"
#include "workers/lib/task_line.h"
#include "workers/lib/worker_line.h"

/* ---- a task ---- */

static void
start(void *worker, Task *task, int64 start_by_us)
{
	task_line_free(task);
}

static void
cancel(void *worker, const char *id, int64 version, const char *why)
{
}

static void
read_line(const char *line)
{
	static const WorkerActions actions = {start, cancel};
	int64		start_by_us;
	Task	   *task = task_line_read(line, &start_by_us);

	if (task != NULL)
		task_line_free(task);
	worker_line_take(&actions, NULL, line);
}

static Task
some_task(Input *input)
{
	Task		task = {.version = 3, .tries = 1, .deadline_text = "2031-05-06T07:08:09Z"};

	strcpy(task.id_text, "0192c8f0-0000-7000-8000-000000000001");
	task.is_binary = input_choice(input, 2) == 1;
	task.type = input_text(input);
	task.key = input_text(input);
	task.data = input_bytes(input, &task.data_len);
	/* the database stores JSON alone */
	if (!task.is_binary && (strlen(task.data) < task.data_len || !is_json(task.data)))
		task.is_binary = true;
	return task;
}

static bool
are_same(const Task *a, const Task *b)
{
	/* jsonb's null is no data for a worker */
	bool		is_null = !a->is_binary && b->data == NULL;

	return strcmp(a->type, b->type) == 0 && is_same_text(a->key, b->key) && a->version == b->version &&
		(is_null || !a->is_binary || (b->data_len == a->data_len && memcmp(a->data, b->data, a->data_len) == 0));
}

/* A worker reads the task that the sidecar writes. */
static void
write_line(Input *input)
{
	Task		task = some_task(input);
	StringInfoData line;
	int64		start_by_us;
	Task	   *again;

	initStringInfo(&line);
	worker_input_add_task(&line, &task, 5000);
	must(strchr(line.data, '\n') == line.data + line.len - 1, "a task is one line", line.data);
	line.data[--line.len] = '\0';
	if (text_is_utf8(task.type, strlen(task.type)) && text_is_utf8(task.key, strlen(task.key)))
	{
		must(is_json(line.data), "a task is JSON", line.data);
		again = task_line_read(line.data, &start_by_us);
		must(again != NULL && start_by_us == 5000 && are_same(&task, again), "a worker reads what was written", line.data);
		task_line_free(again);
	}
	pfree(line.data);
	pfree(task.type);
	pfree(task.key);
	pfree(task.data);
}

/* ---- lines ---- */

static void
take_lines(LineReader *reader, StringInfo out)
{
	char	   *line;
	size_t		len;

	while ((line = lines_next(reader, &len)) != NULL)
	{
		must(line[len] == '\0', "a line ends in a NUL", line);
		appendBinaryStringInfo(out, line, (int) len);
		appendStringInfoChar(out, '\n');
	}
}

/* In which pieces the bytes come changes no line. */
static void
read_in_pieces(const uint8 *bytes, size_t size)
{
	LineReader	reader;
	StringInfoData lines;
	int			fds[2];

	must(pipe(fds) == 0, "there is a pipe", "");
	initStringInfo(&lines);
	line_reader_init(&reader);
	for (size_t at = 0; at < size;)
	{
		size_t		n = Min(size - at, (size_t) bytes[at] % 32 + 1);

		must(write(fds[1], bytes + at, n) == (ssize_t) n, "a pipe takes the bytes", "");
		must(lines_read(&reader, fds[0]) == LINES_OK, "there are bytes to read", "");
		take_lines(&reader, &lines);
		at += n;
	}
	must(lines.len + lines_unfinished(&reader) == (int) size && memcmp(lines.data, bytes, lines.len) == 0, "no byte is lost", lines.data);
	line_reader_clear(&reader);
	pfree(lines.data);
	close(fds[0]);
	close(fds[1]);
}

/* ---- output ---- */

static void
keep_output(const uint8 *bytes, size_t size)
{
	Output		output;
	StringInfoData out;
	size_t		max = size > 0 ? bytes[0] + 16 : 16;

	output_init(&output, max);
	initStringInfo(&out);
	for (size_t at = 0; at < size; at += bytes[at] % 64 + 1)
		output_add(&output, (const char *) bytes + at, Min(size - at, (size_t) bytes[at] % 64 + 1));
	output_append(&output, &out);
	must(text_is_utf8(out.data, out.len), "output is UTF-8", out.data);
	must((size_t) out.len <= max + 8, "output is not much longer than it may be", out.data);
	pfree(out.data);
	output_clear(&output);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	char		places[PLACES_BYTES];
	char	   *line;

	read_in_pieces(bytes, Min(size, 4096));
	keep_output(bytes, size);
	line = input_text(&input);
	read_line(line);
	places_name(line, places);
	must(strlen(places) < PLACES_BYTES, "places have their room", line);
	pfree(line);
	write_line(&input);
	return 0;
}
