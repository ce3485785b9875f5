/*
 * hear_sigpipe.c -- lets SIGPIPE end the session that loads it, as a careless function
 * of a user would; built by a test.
 */
#include "postgres.h"

#include <signal.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

void
_PG_init(void)
{
	signal(SIGPIPE, SIG_DFL);
}
