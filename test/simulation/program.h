/*-------------------------------------------------------------------------
 *
 * program.h
 *		The program of a worker in the simulation: it reads tasks, and answers or fails to.
 *
 *		from: children.c		to: judge.h
 *
 * Chance decides when a process starts how many tasks it works on at once, and for each
 * task whether it answers late, never, twice, beside the protocol, or dies.  It keeps
 * what the protocol asks of a worker: it begins no task after start_by_ms, and a program
 * that tells what it takes up tells of each task before it begins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "process.h"

typedef struct Program Program;

/* The program wants to exit. */
typedef void (*ProgramExit) (void *arg, int status);

/* in, out: its ends of the pipes, which stay the caller's.  tells: see above. */
extern Program *program_new(Process *process, int in, int out, bool tells);
extern void program_on_exit(Program *program, ProgramExit exit, void *arg);

/*
 * The sidecar is about to end the program: not while a task runs that is not late, unless
 * the program gave a reason.
 */
extern void program_check_end(const Program *program);

/* There may be input. */
extern void program_look(Program *program);

/* It was ended, with all its tasks. */
extern void program_free(Program *program);

#endif							/* SIM_PROGRAM_H */
