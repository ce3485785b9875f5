/*-------------------------------------------------------------------------
 *
 * ctl_session.h
 *		One session of the database, which waits for each answer.
 *
 * Each statement is a transaction of its own, with a search_path and a time limit
 * that last as long as the transaction, so a pooler may lie between.  A statement
 * that fails ends the program with a message for people, unless it is only tried.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_SESSION_H
#define TWT_CTL_SESSION_H

#include "libpq-fe.h"

typedef struct Session Session;

/* Values as psql's options have them; NULL: the variables of libpq. */
typedef struct SessionOptions
{
	const char *host;
	const char *port;
	const char *dbname;
	const char *user;
	bool		no_password;	/* do not ask for one */
	int64		timeout_us;		/* time limit of a statement */
	const char *role;			/* the role that such a user needs, for
								 * messages */
	const char *schema;			/* the search_path has it behind pg_catalog;
								 * NULL: none */
	const char *lacks;			/* hint for a relation that is not there;
								 * NULL: the extension is missing or old */
} SessionOptions;

/* Asks for a password at the terminal, if the server wants one. */
extern Session *session_open(const SessionOptions *options);
extern void session_close(Session *session);

/* The role that what follows needs, for messages. */
extern void session_need(Session *session, const char *role);

/* Words that follow the message if a statement fails, and are read then; NULL: none. */
extern void session_note(Session *session, const char *words);

/* The values are of type text, or NULL. */
extern PGresult *session_ask(Session *session, const char *sql, int nvalues,
							 const char *const *values);

/*
 * The same; if the server refuses it, the result is the refusal, whose
 * PQresultStatus() is not PGRES_TUPLES_OK.
 */
extern PGresult *session_try(Session *session, const char *sql, int nvalues,
							 const char *const *values);

#endif							/* TWT_CTL_SESSION_H */
