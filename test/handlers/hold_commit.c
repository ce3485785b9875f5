/*
 * hold_commit.c -- holds commits of a session that loads it, after they have shown
 * their rows and before they tell of new tables; built by a test.
 *
 *	HELD		a file: a commit is held as long as it is there, and appends a line to it
 *				before
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

static void
hold(XactEvent event, void *arg)
{
	int			fd;

	if (event != XACT_EVENT_COMMIT || (fd = open(HELD, O_WRONLY | O_APPEND)) < 0)
		return;
	(void) !write(fd, "held\n", 5);
	close(fd);
	while (access(HELD, F_OK) == 0)
		pg_usleep(20000);
}

void
_PG_init(void)
{
	RegisterXactCallback(hold, NULL);
}
