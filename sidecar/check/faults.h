/*-------------------------------------------------------------------------
 *
 * faults.h
 *		Handlers that cannot be started, found before a task needs them.
 *
 * A program may be missing, a function, or a grant.  The sidecar looks when its
 * node begins and after each reload; while a handler has a fault, it looks
 * again every half a minute.  A fault that is new is a line in the log, and each
 * is a row of twtasks.warnings while it lasts.  The other handlers work.
 * --check-config makes the same lists.
 *
 * Faults are a list of as many texts as the configuration has handlers; NULL:
 * that handler can be started.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FAULTS_H
#define TWT_FAULTS_H

#include "libpq-fe.h"

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Faults Faults;

extern Faults *faults_open(Loop *loop, const Config *config, Node *node);
extern void faults_free(Faults *faults);

/* Looks soon, and tells the log all that it finds. */
extern void faults_look(Faults *faults);

/* At the end of a turn. */
extern void faults_pump(Faults *faults);

/* The faults of handlers that are programs; palloc'd, as are the texts. */
extern char **faults_of_programs(const Config *config) MUSTCHECK;

/* Whether a handler is a function of the database. */
extern bool faults_has_functions(const Config *config);

/* Adds the faults of functions, from the answer to call_check_handlers. */
extern void faults_add_functions(char **list, const Config *config, const PGresult *result);

/* NULL is possible. */
extern void faults_free_list(char **list, const Config *config);

#endif							/* TWT_FAULTS_H */
