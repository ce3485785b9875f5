/*-------------------------------------------------------------------------
 *
 * leftovers.c
 *		Kills processes that a killed child left outside its process group.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "execute/process/leftovers.h"
#include "execute/process/run_token.h"

/* Processes checked per turn of the loop. */
#define SLICE 32

/* Only this much of an environment is searched. */
#define ENVIRONMENT_MAX (1024 * 1024)

/* Pause before the next look at processes that are dying or in execve(). */
#define PAUSE_US 2000

/* Limits for these processes in one pass: their number, and the time to wait. */
#define UNSETTLED_MAX 64
#define UNSETTLED_US SECONDS_TO_US(1)

/* A process that still lives after this time does not die of KILL. */
#define PATIENCE_US SECONDS_TO_US(5)

#define NOTHING_LEFT (-1)

/* Fields of /proc/<pid>/stat, counted from 1. */
#define STAT_FLAGS 9
#define STAT_ENV_END 51
#define PF_KTHREAD 0x00200000

typedef struct Hunt
{
	dlist_node	node;
	char		token[RUN_TOKEN_TEXT + 1];	/* "": any token of a dead sidecar */
	LoopFn		done;
	void	   *arg;
	int64		give_up_us;
	bool		found;			/* another pass is needed */
} Hunt;

/* The open directory refers to this process even if its id is used again. */
typedef struct Process
{
	int			dir;			/* /proc/<pid> */
	pid_t		pid;
} Process;

struct Leftovers
{
	Loop	   *loop;
	LoopTimer  *timer;
	DIR		   *proc;			/* NULL between two passes */
	dlist_head	hunts;			/* looked for in the current pass */
	dlist_head	joining;		/* start with the next pass */
	Process		unsettled[UNSETTLED_MAX];	/* owner not known yet */
	int			nunsettled;
	int64		read_us;		/* when all of /proc was read */
	bool		may_be_orphan;	/* the process being checked */
	bool		has_orphans;
};

/* ---- one process ---- */

/* Whether the hunt looks for this token, which has no NUL at its end. */
static bool
is_hunted(Leftovers *leftovers, const Hunt *hunt, const char *token)
{
	if (hunt->token[0] != '\0')
		return memcmp(token, hunt->token, RUN_TOKEN_TEXT) == 0;
	if (!leftovers->may_be_orphan || !run_token_is_orphan(token))
		return false;
	if (!leftovers->has_orphans)
		log_line(TWT_LOG_WARN, "execute",
				 "killing what handlers of a dead sidecar left running");
	leftovers->has_orphans = true;
	return true;
}

/* Marks the hunts whose token is in these bytes; true if there are any. */
static bool
match_tokens(Leftovers *leftovers, const char *bytes, size_t len)
{
	const size_t name_len = strlen(RUN_TOKEN_NAME);
	const char *end = bytes + len;
	bool		matched = false;

	while ((bytes = memmem(bytes, end - bytes, RUN_TOKEN_NAME, name_len)))
	{
		dlist_iter	iter;

		bytes += name_len;
		if (end - bytes < RUN_TOKEN_TEXT)
			break;
		dlist_foreach(iter, &leftovers->hunts)
		{
			Hunt	   *hunt = dlist_container(Hunt, node, iter.cur);

			if (is_hunted(leftovers, hunt, bytes))
				hunt->found = matched = true;
		}
	}
	return matched;
}

/* This pass is incomplete, so no hunt may end with it. */
static void
look_again(Leftovers *leftovers)
{
	dlist_iter	iter;

	dlist_foreach(iter, &leftovers->hunts)
		dlist_container(Hunt, node, iter.cur)->found = true;
}

/* A shortage of descriptors or memory hides processes. */
static bool
is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

typedef enum Environment
{
	ENVIRONMENT_MATCHES,
	ENVIRONMENT_DIFFERS,
	ENVIRONMENT_EMPTY
} Environment;

/* Searches block by block.  Blocks overlap, so that no token is cut. */
static Environment
search_environment(Leftovers *leftovers, int fd)
{
	static char buffer[64 * 1024];
	const size_t overlap = strlen(RUN_TOKEN_NAME) + RUN_TOKEN_TEXT - 1;
	size_t		total = 0;
	size_t		len = 0;
	bool		matched = false;
	ssize_t		n;

	while (!matched && total < ENVIRONMENT_MAX &&
		   (n = read(fd, buffer + len, sizeof(buffer) - len)) > 0)
	{
		len += n;
		total += n;
		matched = match_tokens(leftovers, buffer, len);
		if (len > overlap)
		{
			memmove(buffer, buffer + len - overlap, overlap);
			len = overlap;
		}
	}
	if (total == 0)
		return ENVIRONMENT_EMPTY;
	return matched ? ENVIRONMENT_MATCHES : ENVIRONMENT_DIFFERS;
}

/*
 * A process in execve() has no environment for a moment.  A dying process has
 * lost its environment but still holds its files.  In both cases field env_end
 * of its stat is 0, unlike for a process with an empty environment.  The field
 * is also 0 for zombies and kernel threads, which do not count.
 */
static bool
is_in_between(int dir)
{
	char		stat[1024];
	char	   *field;
	int			fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t		n = fd < 0 ? 0 : read(fd, stat, sizeof(stat) - 1);
	int			number;

	if (fd >= 0)
		close(fd);
	stat[Max(n, 0)] = '\0';
	field = strrchr(stat, ')'); /* ends the second field */
	if (field == NULL || strchr("ZXx", field[2]))
		return false;
	for (number = 2; number < STAT_ENV_END; number++)
	{
		field = strchr(field, ' ');
		if (field == NULL)
			return false;
		field++;
		if (number + 1 == STAT_FLAGS && strtoul(field, NULL, 10) & PF_KTHREAD)
			return false;
	}
	return strtoull(field, NULL, 10) == 0;
}

/*
 * The signal cannot reach another process with the same id.  valgrind does not
 * know this call, so kill() replaces it there.
 */
static void
kill_process(const Process *process)
{
	if (pidfd_send_signal(process->dir, SIGKILL, NULL, 0) != 0 &&
		errno == ENOSYS)
		kill(process->pid, SIGKILL);
}

/*
 * Kills the process if a hunt looks for it.  False: its owner is not known
 * yet.
 */
static bool
settle(Leftovers *leftovers, const Process *process)
{
	int			fd = openat(process->dir, "environ", O_RDONLY | O_CLOEXEC);
	Environment environment = ENVIRONMENT_DIFFERS;
	struct stat st;

	/*
	 * A handler may have started this sidecar, whose environment then has a
	 * token.
	 */
	leftovers->may_be_orphan = process->pid != getpid() &&
		fstat(process->dir, &st) == 0 && st.st_uid == geteuid();
	if (fd >= 0)
	{
		environment = search_environment(leftovers, fd);
		close(fd);
	}
	else if (errno == ESRCH)
		environment = ENVIRONMENT_EMPTY;
	else if (is_shortage(errno))
		look_again(leftovers);

	if (environment == ENVIRONMENT_MATCHES)
		kill_process(process);
	return environment != ENVIRONMENT_EMPTY || !is_in_between(process->dir);
}

static void
check_process(Leftovers *leftovers, const char *name)
{
	Process		process;

	process.pid = strtol(name, NULL, 10);
	process.dir = openat(dirfd(leftovers->proc), name,
						 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process.dir < 0)
	{
		if (is_shortage(errno))
			look_again(leftovers);
		return;
	}
	if (settle(leftovers, &process))
		close(process.dir);
	else if (leftovers->nunsettled < UNSETTLED_MAX)
		leftovers->unsettled[leftovers->nunsettled++] = process;
	else
	{
		look_again(leftovers);
		close(process.dir);
	}
}

/* True when all unsettled processes are settled or given up. */
static bool
settle_rest(Leftovers *leftovers)
{
	bool		give_up = loop_now_us(leftovers->loop) >=
		leftovers->read_us + UNSETTLED_US;
	int			kept = 0;
	int			i;

	for (i = 0; i < leftovers->nunsettled; i++)
	{
		Process    *process = &leftovers->unsettled[i];

		if (settle(leftovers, process) || give_up)
			close(process->dir);
		else
			leftovers->unsettled[kept++] = *process;
	}
	leftovers->nunsettled = kept;
	return kept == 0;
}

/* ---- passes ---- */

/* Checks the next processes; false when all of /proc is read. */
static bool
check_slice(Leftovers *leftovers)
{
	int			left = SLICE;

	while (left > 0)
	{
		struct dirent *entry = readdir(leftovers->proc);

		if (entry == NULL)
			return false;
		if (!isdigit((unsigned char) entry->d_name[0]))
			continue;
		check_process(leftovers, entry->d_name);
		left--;
	}
	return true;
}

/* Begins a pass for all hunts.  False if there are none, or no /proc. */
static bool
begin_pass(Leftovers *leftovers)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &leftovers->joining)
	{
		dlist_delete(iter.cur);
		dlist_push_tail(&leftovers->hunts, iter.cur);
	}
	if (dlist_is_empty(&leftovers->hunts))
		return false;
	leftovers->proc = opendir("/proc");
	if (leftovers->proc == NULL && is_shortage(errno))
		look_again(leftovers);
	else if (leftovers->proc == NULL)
		log_line(TWT_LOG_WARN, "execute", "could not open directory \"%s\": %s",
				 "/proc", strerror(errno));
	return leftovers->proc != NULL;
}

static bool
is_over(Leftovers *leftovers, const Hunt *hunt)
{
	if (!hunt->found)
		return true;
	if (loop_now_us(leftovers->loop) < hunt->give_up_us)
		return false;
	log_line(TWT_LOG_WARN, "execute",
			 "processes of a killed handler do not die");
	return true;
}

static void
finish_hunt(Hunt *hunt)
{
	LoopFn		done = hunt->done;
	void	   *arg = hunt->arg;

	dlist_delete(&hunt->node);
	pfree(hunt);
	if (done)
		done(arg);
}

/* Ends the hunts that are over; the others take part in the next pass. */
static void
end_pass(Leftovers *leftovers)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &leftovers->hunts)
	{
		Hunt	   *hunt = dlist_container(Hunt, node, iter.cur);

		if (is_over(leftovers, hunt))
			finish_hunt(hunt);
		else
			hunt->found = false;
	}
}

static void
end_reading(Leftovers *leftovers)
{
	closedir(leftovers->proc);
	leftovers->proc = NULL;
	leftovers->read_us = loop_now_us(leftovers->loop);
}

/*
 * Continues the current pass or begins one; returns the delay until the next
 * step.
 */
static int64
take_step(Leftovers *leftovers)
{
	if (leftovers->proc || (leftovers->nunsettled == 0 && begin_pass(leftovers)))
	{
		if (check_slice(leftovers))
			return 0;
		end_reading(leftovers);
	}
	if (!settle_rest(leftovers))
		return PAUSE_US;
	end_pass(leftovers);
	if (!dlist_is_empty(&leftovers->hunts))
		return PAUSE_US;
	return dlist_is_empty(&leftovers->joining) ? NOTHING_LEFT : 0;
}

static void
on_timer(void *arg)
{
	Leftovers  *leftovers = arg;
	int64		delay_us = take_step(leftovers);

	if (delay_us != NOTHING_LEFT)
		loop_timer_start(leftovers->timer, delay_us);
}

Leftovers *
leftovers_new(Loop *loop)
{
	Leftovers  *leftovers = palloc0(sizeof(Leftovers));

	leftovers->loop = loop;
	leftovers->timer = loop_timer_new(loop, on_timer, leftovers);
	dlist_init(&leftovers->hunts);
	dlist_init(&leftovers->joining);
	return leftovers;
}

void
leftovers_kill(Leftovers *leftovers, const char *token, LoopFn done, void *arg)
{
	Hunt	   *hunt = palloc0(sizeof(Hunt));

	strlcpy(hunt->token, token, sizeof(hunt->token));
	hunt->done = done;
	hunt->arg = arg;
	hunt->give_up_us = loop_now_us(leftovers->loop) + PATIENCE_US;
	dlist_push_tail(&leftovers->joining, &hunt->node);
	if (!loop_timer_active(leftovers->timer))
		loop_timer_start(leftovers->timer, 0);
}

void
leftovers_kill_orphans(Loop *loop)
{
	Leftovers  *leftovers = leftovers_new(loop);

	leftovers_kill(leftovers, "", NULL, NULL);
	leftovers_free(leftovers);
}

/* Removes the callbacks of the hunts. */
static void
silence(dlist_head *hunts)
{
	dlist_iter	iter;

	dlist_foreach(iter, hunts)
		dlist_container(Hunt, node, iter.cur)->done = NULL;
}

void
leftovers_free(Leftovers *leftovers)
{
	int64		delay_us;

	silence(&leftovers->hunts);
	silence(&leftovers->joining);
	while ((delay_us = take_step(leftovers)) != NOTHING_LEFT)
		pg_usleep(delay_us);
	loop_timer_free(leftovers->timer);
	loop_defer_free(leftovers->loop, leftovers);
}
