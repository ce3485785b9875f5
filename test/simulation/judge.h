/*-------------------------------------------------------------------------
 *
 * judge.h
 *		What must hold in every run, whatever fails.
 *
 *	- a version of a task starts once, and again only if a crash of the server has
 *	  undone its grab, which only a task with the stuck rule "retry" allows;
 *	- no process runs a version twice at once;
 *	- no task is let start after its incarnation was declared gone, unless a clock was
 *	  set.  A task in the pipe of a worker may start later, until the lease is over;
 *	- no node runs more tasks than its configuration, its handlers and its limits allow;
 *	- no more tasks run in the cluster than a limit of it allows, of those that were
 *	  grabbed under this limit and not taken over.  A take-over that passes over a locked
 *	  row leaves its slot free, since the node has ended;
 *	- no stretch of time has more starts under a rate than a burst and the rate's share of
 *	  that time, while the faults are light;
 *	- the database accepts one outcome for a version, and one that its handler said;
 *	- a handler that ends its task in time decides its outcome, unless the faults are heavy;
 *	- no task is handed to a worker after the incarnation that grabbed it has ended, unless
 *	  a clock was set;
 *	- a node that lives starts what it has grabbed, unless the faults are heavy;
 *	- no task is grabbed before its time, or after it has expired, unless a clock was set;
 *	- a handler that asks for a delay in time gets that delay, and a failed task the delay of
 *	  its policy and all its tries, unless the faults are heavy;
 *	- a WAITING task may run soon after its time, and an expired task ends soon, unless the
 *	  faults are heavy or a clock was set;
 *	- a task that a person has cancelled before its grab is grabbed no more soon after that,
 *	  while the faults are light.  A lock on its row keeps it from its end;
 *	- a node that works alone asks for no task while another one of its type and bucket
 *	  waits in its memory, and is more urgent, or as urgent and there for longer.  A task
 *	  whose type has an aging counts as the priority to which it has risen, neither late
 *	  nor early;
 *	- a node that frees a slot of the cluster offers it if others wait, and a node that is
 *	  offered one uses it or hands it on, unless it has all slots of that limit, once
 *	  nothing fails;
 *	- somebody works while tasks wait, once nothing fails;
 *	- each occurrence of a schedule is added at most once and not before its time.  While
 *	  the faults are light and no clock was set, it is added soon, whoever leads;
 *	- no task is lost: in the end each one has ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include "base/task.h"
#include "model.h"
#include "process.h"

extern void judge_begin(void);

/* From now on a task may start late, since a clock was set. */
extern void judge_excuse_late(void);

/* From now on the faults are light: each task that is grabbed starts before its deadline. */
extern void judge_expect_starts(void);

/* From now on nothing fails; is_alone: one machine does all the work. */
extern void judge_expect_quiet(bool is_alone);
extern void judge_expect_noise(void);

/* Time has passed. */
extern void judge_look(void);

/* ---- handlers ---- */

/* given_us: when the sidecar let it start, by the world's clock. */
extern void judge_start(Process *process, const Row *row, int64 version, int64 given_us);
extern void judge_result(const Row *row, int64 version, TaskResult result);

/* With that result it wants the task to wait for so long. */
extern void judge_delay(const Row *row, int64 version, int64 delay_us);

/* It has said so as its protocol asks for, so the sidecar must hear it. */
extern void judge_expect(const Row *row, int64 version);

/* The sidecar has written the task for a worker, at that time of the world's clock. */
extern void judge_hand(const Process *process, const Row *row, int64 version, int64 given_us);

/* The faults have been light since the grab, which is not long ago. */
extern bool judge_is_in_time(const Row *row, int64 version);

/* The sidecar ends the process of a worker that has such tasks alone. */
extern void judge_end_worker(const Process *process, const Row *row, int64 version);

/* A function has run for the row, which its transaction has grabbed. */
extern void judge_effect(const Row *row, TaskResult result);

/* The handler has ended, or was ended. */
extern void judge_stop(Process *process, const Row *row, int64 version);

/* The process asks for a task, which will have that version. */
extern void judge_ask(const Process *process, const Row *row, int64 version);

/* ---- the database ---- */

/* The task will wait for so long. */
extern void judge_accept(const Row *row, const char *result, int64 delay_us);

/* Its node has sent the call then, by the world's clock; 0: a function grabs it. */
extern void judge_grab(const Row *row, int64 sent_us);

/* The deadline of the row has passed, and its node lives. */
extern void judge_overdue(const Row *row);

/* The incarnation has ended: no task of it may start from now on. */
extern void judge_gone(int64 incarnation);

/* Another one may start the task, while the node that had it may go on. */
extern void judge_take_over(const Row *row);

/* The node that had the task has ended, and a lock keeps the row from its take-over. */
extern void judge_pass_over(const Row *row);

/* A crash undoes the grab of the row. */
extern void judge_undo(const Row *row);

/* A person wants it to end, and the request stays until a sidecar asks for it. */
extern void judge_cancel(const Row *row);

/* The row waits until its next time. */
extern void judge_wait(const Row *row);

/* Its time has come, as the database sees it now. */
extern void judge_promote(const Row *row);

/* It ends, since it has expired. */
extern void judge_expire(const Row *row);

/* ---- schedules; times are the database's ---- */

/* The schedule goes on; its next occurrence. */
extern void judge_schedule_starts(int schedule, int64 next_us);
extern void judge_schedule_ends(int schedule);

/* Its occurrences that are due, from that one on, are added now, or left out by its rule. */
extern void judge_schedule(int schedule, int64 due_us);

/* The task of one occurrence is added. */
extern void judge_occurrence(int schedule, int64 at_us);

/* ---- limits of the cluster ---- */

/* The incarnation has freed a slot of the limit. */
extern void judge_free(int limit, int64 incarnation);

/* It tells the database of slots, which others may use. */
extern void judge_offer(int limit, int64 incarnation);

/* It is told of a slot, and then asks for one. */
extern void judge_turn(int limit, int64 incarnation);
extern void judge_use_turn(int limit, int64 incarnation);

/* A session of it runs a function for so long.  A turn may wait for that session. */
extern void judge_busy(int64 incarnation, int64 length_us);

#endif							/* SIM_JUDGE_H */
