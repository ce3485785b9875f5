/*-------------------------------------------------------------------------
 *
 * execute_fixture.h
 *		For the tests of runners: real processes on the real loop, no database.
 *
 * One runner at a time.  Nothing here sleeps: run_until() runs the loop until
 * a condition holds, and fails the test when that takes far too long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_FIXTURE_H
#define TWT_EXECUTE_FIXTURE_H

#include "check.h"
#include "execute/runner.h"

/* A task and the verdict on it. */
typedef struct TestTask
{
	Task		task;			/* first: a Task is its TestTask */
	int			reports;
	TaskResult	result;
	int64		delay_us;
	char	   *message;
} TestTask;

typedef struct Fixture
{
	Loop	   *loop;
	const HandlerKind *kind;
	Runner	   *runner;			/* NULL: not opened */
	HandlerConfig config;		/* changed before open_runner() */
	const HandlerConfig *whole_config;	/* for kinds with more options; NULL
										 * for others */
	RunnerParts parts;
	int64		incarnation;	/* the answer of their gate */
	bool		is_shut;		/* another one */
	int64		until_us;		/* ... and until when */
	char	   *argv[8];
	char		directory[64];	/* this test's own */
	char		path[128];		/* a fifo in it */
	int			fifo;			/* its reading end */
	char	   *go_path;		/* another one */
	int			go;				/* both ends of it */
	int			reported;		/* verdicts since open_runner() */
	int			done;			/* verdicts that were TASK_DONE */
	dlist_head	tasks;			/* all tasks, by a list of our own */
} Fixture;

extern Fixture fixture;

/* Setup and teardown of each test. */
extern int	fixture_setup(void **state);
extern int	fixture_teardown(void **state);

/* The arguments of open_runner(): argv, ended by a NULL. */
#define open_command(...) \
	open_runner(&handler_command, (const char *[]) {__VA_ARGS__, NULL})
#define open_worker(...) \
	open_runner(&handler_worker, (const char *[]) {__VA_ARGS__, NULL})
extern void open_runner(const HandlerKind *kind, const char **argv);
extern void close_runner(void);

/* The absolute path of a file below the project's root. */
extern const char *project_file(const char *name);

/* A task that is not started yet; data may be NULL. */
extern TestTask *new_task(const char *data);

extern TestTask *start_task(const char *data);
extern TestTask *start_payload(const char *bytes, size_t len);

typedef bool (*Condition) (void *arg);
extern void run_until(Condition condition, void *arg);

/* Lets the loop go round once. */
extern void run_turn(void);

extern void wait_for(TestTask *task);
extern void wait_for_all(void);

/* Until a worker's process has the task. */
extern void wait_until_given(TestTask *task);

/* Starts a task and waits for it. */
extern TestTask *run_task(const char *data);

/* Until somebody has written a line to the fifo: then he holds it open. */
extern void wait_for_holder(void);

/* Writes a line to the other fifo. */
extern void send_go(void);

/* Is the fifo held open by nobody? */
extern bool is_fifo_free(void *arg);

extern void assert_verdict(const TestTask *task, TaskResult result,
						   const char *message);

#endif							/* TWT_EXECUTE_FIXTURE_H */
