/*-------------------------------------------------------------------------
 *
 * run_token.h
 *		The token that marks all processes of one run of a handler.
 *
 * The token is in the environment of these processes, where leftovers.h finds
 * it.  It names the sidecar that started them by process id, start time and
 * PID namespace.  So another sidecar on this machine can tell that the first
 * one is dead, even if its process id is used again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RUN_TOKEN_H
#define TWT_RUN_TOKEN_H

#define RUN_TOKEN_NAME "TWTASKS_RUN="

/* Process id, namespace, start time and random bytes, in hexadecimal. */
#define RUN_TOKEN_TEXT (8 + 8 + 16 + 32)

/* Makes a token; the buffer has room for RUN_TOKEN_TEXT and a NUL. */
extern void run_token_make(char *token);

/*
 * Whether the sidecar that made the token is dead.  False if the text is no
 * token, or if it cannot be told.
 */
extern bool run_token_is_orphan(const char *token) MUSTCHECK;

#endif							/* TWT_RUN_TOKEN_H */
