/*-------------------------------------------------------------------------
 *
 * run_token.h
 *		The token that marks all processes of one run of a handler.
 *
 * It stands in their environment, so that they are found wherever they went
 * (leftovers.h).  It names the sidecar that started them, by process id, time
 * of start and namespace of process ids: so another sidecar of this machine can
 * tell that this one is dead, and does not take a living one for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RUN_TOKEN_H
#define TWT_RUN_TOKEN_H

#define RUN_TOKEN_NAME "TWTASKS_RUN="

/* Process, namespace, time of start, and what is random; in hexadecimal. */
#define RUN_TOKEN_TEXT (8 + 8 + 16 + 32)

/* A new one; token has room for RUN_TOKEN_TEXT and a NUL. */
extern void run_token_make(char *token);

/*
 * Is the sidecar that made the token dead?  False for what is no token, and if
 * that cannot be told.
 */
extern bool run_token_is_orphan(const char *token) MUSTCHECK;

#endif							/* TWT_RUN_TOKEN_H */
