/*-------------------------------------------------------------------------
 *
 * resident.c
 *		One process that stays: its start, its lines, its end, and its next start.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/chance.h"
#include "helper/helper_log.h"
#include "helper/resident.h"
#include "protocol/worker_protocol.h"

#define BACKOFF_MIN_US MS_TO_US(100)
#define BACKOFF_MAX_US SECONDS_TO_US(30)
#define YOUNG_US SECONDS_TO_US(30)

/* Limits for the hello. */
#define LOOK_MIN_US MS_TO_US(1)
#define LOOK_MAX_US MS_TO_US(100)
#define SLOW_US SECONDS_TO_US(60)
#define GIVE_UP_US SECONDS_TO_US(600)

#define READ_BYTES (64 * 1024)

/* The most reads to empty a pipe whose process has exited. */
#define LAST_READS 16

struct Resident
{
	Loop	   *loop;
	const ResidentOwner *owner;
	void	   *arg;
	ResidentState state;
	LoopTimer  *timer;			/* see resident.h */
	bool		stays_down;
	Child	   *child;			/* NULL: down */
	SpawnPipes	pipes;
	LineWriter	input;
	int64		unread;			/* bytes that were taken out of the pipe */
	LineReader	output;
	HelperLog  *log;
	int64		leave_us;		/* as this process was started with */
	int64		grace_us;		/* likewise */
	char	   *reason;			/* why it ends; NULL: by itself */
	bool		is_to_end;		/* it is to end */
	bool		is_useful;
	int			nstarts;
	int64		started_us;
	int64		backoff_us;		/* 0: the shortest */
	Trouble		trouble;
	char	   *sentence;		/* NULL: no trouble */
};

/* The timer belongs to the state; delay_us below 0: no timer. */
static void
set_timer(Resident *resident, int64 delay_us)
{
	if (delay_us >= 0)
		loop_timer_start(resident->timer, delay_us);
	else
		loop_timer_stop(resident->timer);
}

static void
set_state(Resident *resident, ResidentState state, int64 delay_us)
{
	resident->state = state;
	set_timer(resident, delay_us);
}

ResidentState
resident_state(const Resident *resident)
{
	return resident->state;
}

static bool
is_at_work(const Resident *resident)
{
	return resident->state == RESIDENT_STARTING || resident->state == RESIDENT_RUNNING;
}

bool
resident_is_up(const Resident *resident)
{
	return is_at_work(resident) || resident->state == RESIDENT_LEAVING;
}

bool
resident_is_to_end(const Resident *resident)
{
	return resident->is_to_end;
}

int
resident_starts(const Resident *resident)
{
	return resident->nstarts;
}

int
resident_pid(const Resident *resident)
{
	return spawn_pid(resident->child);
}

static int64
age(const Resident *resident)
{
	return loop_now_us(resident->loop) - resident->started_us;
}

bool
resident_is_young(const Resident *resident)
{
	return age(resident) < YOUNG_US;
}

void
resident_was_useful(Resident *resident)
{
	resident->is_useful = true;
}

void
resident_look_in(Resident *resident, int64 delay_us)
{
	if (resident->state == RESIDENT_RUNNING)
		set_timer(resident, delay_us);
}

const char *
resident_last_words(const Resident *resident, int *len)
{
	return helper_log_last(resident->log, len);
}

void
resident_keep_words(Resident *resident, size_t max)
{
	helper_log_keep(resident->log, max);
}

void
resident_add_words(const Resident *resident, StringInfo out)
{
	helper_log_append(resident->log, out);
}

/* ---- trouble ---- */

void
resident_set_trouble(Resident *resident, Trouble trouble, char *sentence)
{
	pfree(resident->sentence);
	resident->sentence = sentence;
	resident->trouble = trouble;
}

const char *
resident_trouble(const Resident *resident, bool is_unfit)
{
	return is_unfit && resident->trouble != TROUBLE_UNFIT ? NULL : resident->sentence;
}

/* ---- input ---- */

LineWriter *
resident_input(Resident *resident)
{
	return &resident->input;
}

void
resident_say(Resident *resident, const char *line, size_t len)
{
	appendBinaryStringInfo(&resident->input.bytes, line, (int) len);
	appendStringInfoChar(&resident->input.bytes, '\n');
	loop_want_turn(resident->loop);
}

/* Whether the process has read all lines, as far as the kernel can tell. */
static bool
has_read_all(const Resident *resident)
{
	int			unread;

	return resident->pipes.in.fd >= 0 && lines_unwritten(&resident->input) == 0 &&
		ioctl(resident->pipes.in.fd, FIONREAD, &unread) == 0 && unread == 0;
}

/* Reads what is left in the pipe; returns its length. */
static int64
take_back(int fd)
{
	static char block[READ_BYTES];
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

static void
close_input(Resident *resident)
{
	if (resident->pipes.in.fd < 0)
		return;
	resident->unread = take_back(resident->pipes.in.fd);
	resident->input.sent -= resident->unread;
	spawn_pipe_close(&resident->pipes.in);
}

void
resident_hold(Resident *resident)
{
	if (resident->pipes.in.io != NULL)
		loop_io_want(resident->pipes.in.io, 0);
}

/* Its owner flushes in each turn. */
static void
on_writable(void *arg, int ready)
{
	(void) arg;
	(void) ready;
}

/* ---- the end ---- */

static void
end_now(Resident *resident)
{
	set_state(resident, RESIDENT_ENDING, -1);
	close_input(resident);
	spawn_stop(resident->child, resident->grace_us);
}

static void
set_reason(Resident *resident, const char *reason)
{
	if (resident->reason == NULL)
		resident->reason = pstrdup(reason);
}

void
resident_end(Resident *resident, const char *reason)
{
	set_reason(resident, reason);
	end_now(resident);
}

/* It has closed a pipe, so it should exit; the timer ends it otherwise. */
static void
expect_exit(Resident *resident)
{
	if (!is_at_work(resident))
		return;
	set_state(resident, RESIDENT_LEAVING, resident->leave_us);
	close_input(resident);
}

void
resident_flush(Resident *resident)
{
	SpawnPipe  *pipe = &resident->pipes.in;
	LinesResult result;

	if (pipe->fd < 0 || lines_unwritten(&resident->input) == 0)
		return;
	result = lines_write(&resident->input, pipe->fd);
	if (result == LINES_CLOSED)
		expect_exit(resident);
	else if (result == LINES_LATER)
		spawn_pipe_watch(pipe, resident->loop, LOOP_WRITE, on_writable, resident);
	else
		resident_hold(resident);
}

void
resident_want_end(Resident *resident)
{
	resident->is_to_end = true;
	if (resident->state == RESIDENT_DOWN && !resident->stays_down)
	{
		resident->backoff_us = 0;
		set_timer(resident, 0);
	}
}

void
resident_leave(Resident *resident, const char *reason)
{
	if (resident->state != RESIDENT_DOWN)
		set_reason(resident, reason);
	if (!is_at_work(resident))
		return;
	resident_flush(resident);
	set_state(resident, RESIDENT_LEAVING, resident->leave_us);
	spawn_pipe_close(&resident->pipes.in);
}

void
resident_dismiss(Resident *resident)
{
	close_input(resident);
	spawn_stop(resident->child, resident->grace_us);
}

/* ---- output ---- */

/* Reads one block; false when there is none now. */
static bool
read_block(Resident *resident)
{
	LinesResult result = lines_read(&resident->output, resident->pipes.out.fd);
	char	   *line;
	size_t		len;

	if (result == LINES_CLOSED)
		spawn_pipe_close(&resident->pipes.out);
	if (result != LINES_OK)
		return false;
	while ((line = lines_next(&resident->output, &len)) != NULL)
		resident->owner->on_line(resident->arg, line, len);
	if (lines_unfinished(&resident->output) > WORKER_LINE_MAX)
		resident->owner->on_long_line(resident->arg, lines_skip(&resident->output));
	return true;
}

static void
on_stdout(void *arg, int ready)
{
	Resident   *resident = arg;

	(void) ready;
	read_block(resident);
	if (resident->pipes.out.fd < 0)
		expect_exit(resident);
}

static void
on_stderr(void *arg, int ready)
{
	static char block[READ_BYTES];
	Resident   *resident = arg;
	ssize_t		n = read(resident->pipes.err.fd, block, sizeof(block));

	(void) ready;
	if (n > 0)
		helper_log_add(resident->log, resident_pid(resident), block, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&resident->pipes.err);
}

static void
read_rest(Resident *resident)
{
	int			reads = LAST_READS;

	while (resident->pipes.out.fd >= 0 && reads-- > 0 && read_block(resident))
		;
	if (resident->pipes.err.fd >= 0)
		on_stderr(resident, LOOP_READ);
	helper_log_end(resident->log, resident_pid(resident));
}

static void
close_pipes(Resident *resident)
{
	close_input(resident);
	spawn_pipe_close(&resident->pipes.out);
	spawn_pipe_close(&resident->pipes.err);
}

/* ---- its exit ---- */

/* The delay before the next start. */
static int64
next_delay(Resident *resident)
{
	int64		delay_us = Max(resident->backoff_us, BACKOFF_MIN_US);
	bool		is_useful = resident->is_to_end || resident->is_useful || !resident_is_young(resident);

	resident->backoff_us = is_useful ? 0 : Min(2 * delay_us, BACKOFF_MAX_US);
	if (resident->is_to_end)
		return 0;
	return chance_delay(Max(is_useful ? BACKOFF_MIN_US - age(resident) : delay_us, 0));
}

static void
forget_process(Resident *resident)
{
	spawn_free(resident->child);
	resident->child = NULL;
	resident->reason = NULL;
	line_writer_reset(&resident->input);
	resident->unread = 0;
}

static void
on_exited(void *arg)
{
	Resident   *resident = arg;
	StringInfoData how;
	SpawnFailure failure;
	bool		has_run;
	ResidentEnd end;

	read_rest(resident);
	close_pipes(resident);
	initStringInfo(&how);
	spawn_describe_exit(resident->child, &how);
	has_run = !spawn_never_ran(resident->child, &failure);
	end = (ResidentEnd)
	{
		.pid = resident_pid(resident),
			.how = how.data,
			.reason = resident->reason,
			.unread = resident->unread,
			.delay_us = next_delay(resident),
			.failure = has_run ? NULL : &failure
	};
	forget_process(resident);
	set_state(resident, RESIDENT_DOWN, resident->stays_down ? -1 : end.delay_us);
	resident->owner->on_end(resident->arg, &end);
	pfree(how.data);
	pfree(unconstify(char *, end.reason));
	if (!has_run)
		pfree(failure.message);
	loop_want_turn(resident->loop);
}

/* ---- start ---- */

static void
watch_process(Resident *resident, const ResidentStart *how)
{
	resident->leave_us = how->leave_us;
	resident->grace_us = how->grace_us;
	helper_log_begin(resident->log);
	line_reader_reset(&resident->output);
	spawn_pipe_watch(&resident->pipes.out, resident->loop, LOOP_READ, on_stdout, resident);
	if (resident->pipes.err.fd >= 0)
		spawn_pipe_watch(&resident->pipes.err, resident->loop, LOOP_READ, on_stderr, resident);
	set_state(resident, RESIDENT_STARTING, resident->owner->answers ? SLOW_US : LOOK_MIN_US);
	resident_say(resident, how->hello, strlen(how->hello));
}

static void
start(Resident *resident)
{
	static char *mark[] = {"TWTASKS_WORKER=1", NULL};
	ResidentStart how = {NULL};
	SpawnRequest request = {
		.wants_stdout = true,
		.shares_stderr = resident->owner->shares_stderr,
		.is_awaited = true,
		.exited = on_exited,
		.arg = resident
	};
	SpawnFailure failure;

	resident->nstarts++;
	resident->started_us = loop_now_us(resident->loop);
	resident->is_useful = resident->is_to_end = false;
	resident->owner->prepare(resident->arg, &how);
	request.argv = how.argv;
	request.directory = how.directory;
	request.environment = how.environment;
	request.variables = mark;
	resident->child = spawn_start(resident->loop, &request, &resident->pipes, &failure);
	if (resident->child != NULL)
	{
		watch_process(resident, &how);
		return;
	}
	resident->owner->on_failure(resident->arg, &failure);
	pfree(failure.message);
	set_timer(resident, next_delay(resident));
}

void
resident_running(Resident *resident)
{
	set_state(resident, RESIDENT_RUNNING, -1);
	loop_want_turn(resident->loop);
	if (resident->owner->on_running != NULL)
		resident->owner->on_running(resident->arg);
}

/* No event tells that a pipe is read.  The pause grows with the age of the process. */
static void
look_at_start(Resident *resident)
{
	if (!resident->owner->answers && has_read_all(resident))
		resident_running(resident);
	else if (age(resident) >= GIVE_UP_US)
		resident_end(resident, "did not read its first line");
	else
	{
		set_timer(resident, Min(Max(age(resident), LOOK_MIN_US), LOOK_MAX_US));
		if (age(resident) >= SLOW_US)
			resident->owner->on_slow(resident->arg);
	}
}

static void
on_timer(void *arg)
{
	Resident   *resident = arg;

	switch (resident->state)
	{
		case RESIDENT_DOWN:
			start(resident);
			break;
		case RESIDENT_STARTING:
			look_at_start(resident);
			break;
		case RESIDENT_RUNNING:
			resident->owner->on_look(resident->arg);
			break;
		case RESIDENT_LEAVING:
			resident_end(resident, "closed its pipes");
			break;
		case RESIDENT_ENDING:
			break;
	}
}

void
resident_run(Resident *resident)
{
	resident->stays_down = false;
	if (resident->state != RESIDENT_DOWN)
		return;
	resident->backoff_us = 0;
	start(resident);
}

void
resident_stay_down(Resident *resident)
{
	resident->stays_down = true;
	if (resident->state == RESIDENT_DOWN)
		set_timer(resident, -1);
}

/* ---- new, free ---- */

Resident *
resident_new(Loop *loop, const ResidentOwner *owner, void *arg, const char *name)
{
	static const SpawnPipe closed = {-1, NULL};
	Resident   *resident = palloc0(sizeof(Resident));

	resident->loop = loop;
	resident->owner = owner;
	resident->arg = arg;
	resident->stays_down = true;
	resident->pipes.in = resident->pipes.out = resident->pipes.err = closed;
	resident->log = helper_log_new(loop, name);
	line_writer_init(&resident->input);
	line_reader_init(&resident->output);
	resident->timer = loop_timer_new(loop, on_timer, resident);
	return resident;
}

void
resident_free(Resident *resident, int patience_ms)
{
	if (resident->child != NULL)
	{
		spawn_wait(resident->child, patience_ms);
		close_pipes(resident);
		pfree(resident->reason);
		forget_process(resident);
	}
	loop_timer_free(resident->timer);
	line_writer_clear(&resident->input);
	line_reader_clear(&resident->output);
	helper_log_free(resident->log);
	pfree(resident->sentence);
	loop_defer_free(resident->loop, resident);
}
