/*-------------------------------------------------------------------------
 *
 * command.h
 *		The program of a command in the simulation: one task, and an exit status.
 *
 *		from: children.c		to: judge.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "process.h"

typedef struct Command Command;

typedef void (*CommandExit) (void *arg, int status);

/* environment: as spawn.h has it, with the facts of the task.  The command begins now. */
extern Command *command_new(Process *process, char **environment, CommandExit exit, void *arg) MUSTCHECK;

/* It has ended, or was ended. */
extern void command_free(Command *command);

#endif							/* SIM_COMMAND_H */
