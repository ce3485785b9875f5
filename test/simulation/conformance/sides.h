/*-------------------------------------------------------------------------
 *
 * sides.h
 *		The two sides that a history compares: the model, and a server.
 *
 * Each side has the same sessions and gets the same calls at the same times.  The model
 * executes a call in this process.  The server has the extension, and a clock that stands
 * still (frozen_clock.c).  Both sides know a task by the same id.  The server's
 * incarnations are large numbers, so each one stands for the model's number of the same
 * start.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONFORM_SIDES_H
#define CONFORM_SIDES_H

#include "model.h"
#include "server.h"

#define SESSIONS 8

/* Opens the connections; clock: the file of the server's clock. */
extern void sides_open(const char *conninfo, const char *clock);

/* Empties both sides for the next history. */
extern void sides_begin(void);

/* ---- sessions ---- */

extern bool sides_has_session(int session);
extern void sides_connect(int session);

/* Ends the session.  Returns once the server has released its locks. */
extern void sides_disconnect(int session);

/* ---- calls ---- */

/* The session makes the call on both sides, which must give the same answer. */
extern void sides_call(int session, ServerCall *call);

/* The id of the task that the server has added for that occurrence. */
extern void sides_scheduled_id(int schedule, int64 occurrence_us, uint8 *id);

/* A person's statement, with at most one parameter of type text. */
extern void sides_ask(const char *sql, const char *param);

/* Lets the clock of both sides show the world's time. */
extern void sides_show_time(void);

/* The model's number of a start that the server made. */
extern int64 sides_number_of(int64 incarnation);

/* Fails the history unless both sides have the same rows and sent the same triggers. */
extern void sides_compare(void);

/* ---- of each side ---- */

/* by_server: the server's answer, which decides what is chance. */
extern PGresult *model_side_call(int session, const ServerCall *call, const PGresult *by_server, const char **state);
extern void model_side_begin(void);
extern void model_side_connect(int session);
extern void model_side_disconnect(int session);
extern bool model_side_has_session(int session);

/* The triggers that its listeners got since the last reset, a line for each. */
extern StringInfo model_side_news(void);

#endif							/* CONFORM_SIDES_H */
