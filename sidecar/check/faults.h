/*-------------------------------------------------------------------------
 *
 * faults.h
 *		Handlers that cannot be started, found before a task needs them.
 *
 * A program, a function or a grant may be missing.  A thread looks for
 * programs, and the database for functions.  The sidecar checks all handlers
 * when its node begins and after each reload; while a handler has a
 * fault, it checks again every 30 seconds.  At each tick it also asks for programs
 * that could not be started, or ended at once.  A task that comes back without a
 * try tells of a fault too, for a minute.  The sidecar logs each new fault, and keeps
 * each one as a row of twtasks.warnings while it lasts.  Handlers without a
 * fault work meanwhile. --check-config makes the same lists, but starts no program.
 *
 * A list of faults has one text for each handler of the configuration; NULL:
 * that handler can be started.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FAULTS_H
#define TWT_FAULTS_H

#include <jansson.h>

#include "libpq-fe.h"

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Faults Faults;

/* Why the program of a handler could not be started lately; NULL: it could. */
typedef const char *(*FaultsAsk) (void *arg, int handler);

extern Faults *faults_open(Loop *loop, const Config *config, Node *node, FaultsAsk ask, void *arg);
extern void faults_free(Faults *faults);

/* Checks soon, and logs all faults that it finds. */
extern void faults_look(Faults *faults);

/*
 * A FinishUnfit whose argument is a Faults.  The first fault that is noted of a
 * handler stays until its tasks have not come back for a minute: other tasks of the
 * handler may work meanwhile.
 */
extern void faults_note(void *faults, const Task *task, const char *why);

/* Call it at the end of a turn. */
extern void faults_pump(Faults *faults);

/*
 * Call it at each tick, with the answer of pg_silent(): it becomes a row of
 * twtasks.warnings; NULL: none.  Takes over the text.
 */
extern void faults_tick(Faults *faults, char *session);

/* All faults in one text, valid until the next call; NULL: there are none. */
extern const char *faults_text(Faults *faults);

/* Whether no handler can start a task. */
extern bool faults_are_all(const Faults *faults);

/* Adds the troubles of helpers (helper.h) to the list. */
typedef void (*FaultsAdd) (void *arg, json_t *list);

/* Keeps their troubles, asked for at each tick, as rows of twtasks.warnings. */
extern void faults_watch(Faults *faults, FaultsAdd add, void *arg);

/*
 * The first trouble at the last tick that is not about listeners, valid until the
 * next tick; NULL: none.
 */
extern const char *faults_of_helpers(const Faults *faults);

/*
 * Keeps the reason why the configuration file is not in force, a constant, as a
 * row of twtasks.warnings; NULL: it is in force.
 */
extern void faults_note_config(Faults *faults, const char *trouble);

/* Whether any handler is a function of the database. */
extern bool faults_has_functions(const Config *config);

/* Adds the faults of functions, from the answer to call_check_handlers. */
extern void faults_add_functions(char **list, const Config *config, const PGresult *result);

/* NULL is allowed. */
extern void faults_free_list(char **list, const Config *config);

#endif							/* TWT_FAULTS_H */
