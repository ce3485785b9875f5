/*-------------------------------------------------------------------------
 *
 * door.c
 *		The pipes of the door, by which lone triggers come beside the queue.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "common/trigger.h"
#include "door.h"
#include "process.h"
#include "sim_loop.h"
#include "tables.h"
#include "world.h"

#define PIPES 64

/* The pipe of a session; pid 0: free. */
typedef struct Pipe
{
	int			pid;
	int			fd;				/* the server's end; -1: nobody has opened it */
	int			machine;		/* the reader's */
	char		reader[24];
} Pipe;

/* A line on its way. */
typedef struct Line
{
	int			pid;
	char		text[TRIGGER_TEXT_MAX + 64];
} Line;

static Pipe pipes[PIPES];

static Pipe *
find_pipe(int pid)
{
	for (int i = 0; i < PIPES; i++)
		if (pipes[i].pid == pid)
			return &pipes[i];
	return NULL;
}

/* NULL: it has ended. */
static Process *
reader_of(const Pipe *of)
{
	Process    *process = of->fd < 0 ? NULL : process_on(of->machine);

	return process == NULL || strcmp(process->name, of->reader) != 0 ? NULL : process;
}

void
door_make(int pid)
{
	Pipe	   *made = find_pipe(pid) == NULL ? find_pipe(0) : NULL;

	if (made != NULL)
		*made = (Pipe)
	{
		.pid = pid, .fd = -1
	};
}

void
door_remove(int pid)
{
	Pipe	   *gone = find_pipe(pid);

	if (gone == NULL)
		return;
	gone->pid = 0;
	if (gone->fd >= 0)
		close(gone->fd);
	if (reader_of(gone) != NULL)
		sim_loop_look(reader_of(gone)->loop);
}

static int
open_door(int pid)
{
	Pipe	   *opened = pid <= 0 ? NULL : find_pipe(pid);
	int			ends[2];

	if (opened == NULL || opened->fd >= 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
	{
		errno = ENOENT;
		return -1;
	}
	opened->fd = ends[1];
	opened->machine = process_current()->machine;
	strlcpy(opened->reader, process_current()->name, sizeof(opened->reader));
	return ends[0];
}

extern int	__wrap_open(const char *path, int flags,...);

int
__wrap_open(const char *path, int flags,...)
{
	va_list		args;
	int			mode = 0;
	int			pid;

	if (sscanf(path, DOOR_DIRECTORY "/" TRIGGER_PIPE "%d", &pid) == 1)
		return open_door(pid);
	va_start(args, flags);
	if ((flags & O_CREAT) != 0)
		mode = va_arg(args, int);
	va_end(args);
	return openat(AT_FDCWD, path, flags, mode);
}

/* ---- triggers ---- */

static void
deliver(void *arg)
{
	Line	   *line = arg;
	Pipe	   *to = find_pipe(line->pid);

	if (to != NULL && reader_of(to) != NULL && write(to->fd, line->text, strlen(line->text)) > 0)
	{
		world_count(REACHED_DOOR);
		sim_loop_look(reader_of(to)->loop);
	}
	pfree(line);
}

static void
send_line(const Pipe *to, const Row *row)
{
	Line	   *line = palloc(sizeof(Line));
	Trigger		trigger = {.version = row->version, .size = MODEL_SIZE, .priority = row->priority};
	int			len = snprintf(line->text, sizeof(line->text), "%s ", model_buckets[row->bucket]);

	memcpy(trigger.id, row->id, sizeof(row->id));
	strcpy(trigger.type, model_types[row->type]);
	trigger.type_len = strlen(trigger.type);
	trigger.version -= world_happens(50);
	trigger.version = Max(trigger.version, 0);
	(void) trigger_encode(&trigger, line->text + len);
	if (world_happens(20))
		line->text[world_between(0, strlen(line->text) - 1)] = (char) world_between(32, 126);
	strlcat(line->text, "\n", sizeof(line->text));
	line->pid = to->pid;
	(void) world_after(world_happens(950) ? world_between(1, 200) : world_between(0, SECONDS_TO_US(20)), deliver, line);
}

void
door_pass(const Row *row)
{
	const Pipe *to = NULL;
	int			n = 0;

	for (int i = 0; i < PIPES; i++)
		if (pipes[i].pid != 0 && reader_of(&pipes[i]) != NULL && world_between(0, n++) == 0)
			to = &pipes[i];
	if (to == NULL || world_happens(50))
		return;
	send_line(to, row);
	if (world_happens(50))
		send_line(to, row);
}
