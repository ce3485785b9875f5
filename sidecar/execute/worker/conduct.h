/*-------------------------------------------------------------------------
 *
 * conduct.h
 *		How the program of a worker process behaves: whether it accepts its hello,
 *		speaks the protocol and stays.
 *
 *		from: worker_process.c		to: resident.h (trouble), crashes.h
 *
 * Misconduct of a program concerns people, since no task can mend it.  So this file
 * writes it to the log, and tells the resident the trouble and crashes.h the crash.
 *
 * Lines and stderr of a program may have data of its tasks.  They go to the messages
 * of the tasks, and never to the log.  The trouble has them only if the program can
 * have seen no task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONDUCT_H
#define TWT_CONDUCT_H

#include "execute/worker/worker_setup.h"
#include "helper/resident.h"

typedef struct Conduct Conduct;

/* The resident and the setup outlive it. */
extern Conduct *conduct_new(const WorkerSetup *setup, Resident *resident);
extern void conduct_free(Conduct *conduct);

/* ---- the start of a process ---- */

/* A new process: nothing is known of it. */
extern void conduct_begin(Conduct *conduct);
extern void conduct_not_started(Conduct *conduct, const SpawnFailure *failure);
extern void conduct_is_slow(Conduct *conduct);

/* The program works, as far as we can tell: it may have tasks. */
extern void conduct_is_running(Conduct *conduct);

/* ---- its lines, while it is up ---- */

/* It accepted its hello. */
extern void conduct_ready(Conduct *conduct);

/*
 * It refused its settings.  A worker may refuse reloaded ones; then its old ones stay.
 * Ends a process that has accepted none, unless a task has had a reply from it: then
 * the error may concern the task.
 */
extern void conduct_refused(Conduct *conduct, const char *message);

/*
 * A line that is not a reply.  Such a line may stand for a task that now waits until
 * its deadline, so the log has the first one of each process.
 */
extern void conduct_ignore(Conduct *conduct, const char *why);

/* Ends the process, which broke the protocol.  Takes the quote, which may be NULL. */
extern void conduct_fault(Conduct *conduct, const char *what, char *quote);

/* Since then nothing that it says ends a task. */
extern bool conduct_has_broken(const Conduct *conduct);

/* It has said a word on a task, and ended one. */
extern void conduct_replied(Conduct *conduct);
extern void conduct_did_work(Conduct *conduct);

/* ---- its end ---- */

/*
 * Appends what the tasks that end with the process are told.  Returns the length of
 * the part that may be logged.
 */
extern int	conduct_describe_end(const Conduct *conduct, const ResidentEnd *end, StringInfo out);

/* After conduct_describe_end().  has_begun: tasks that may have begun ended with it. */
extern void conduct_end(Conduct *conduct, const ResidentEnd *end, bool has_begun);

#endif							/* TWT_CONDUCT_H */
