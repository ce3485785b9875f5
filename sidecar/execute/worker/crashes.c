/*-------------------------------------------------------------------------
 *
 * crashes.c
 *		A worker handler whose processes end again and again with their tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "execute/worker/crashes.h"

#define CRASHES_MANY 3
#define QUIET_US SECONDS_TO_US(300)
#define TEXT_MAX 1000

struct Crashes
{
	int			in_row;
	int64		last_us;
	char	   *text;			/* the last one; NULL: there are few */
};

Crashes *
crashes_new(void)
{
	return palloc0(sizeof(Crashes));
}

void
crashes_free(Crashes *crashes)
{
	pfree(crashes->text);
	pfree(crashes);
}

void
crashes_add(Crashes *crashes, const char *what, int64 now_us)
{
	crashes->in_row++;
	crashes->last_us = now_us;
	if (crashes->in_row < CRASHES_MANY)
		return;
	pfree(crashes->text);
	crashes->text = text_quote_line(what, strlen(what), TEXT_MAX);
}

void
crashes_clear(Crashes *crashes)
{
	crashes->in_row = 0;
	pfree(crashes->text);
	crashes->text = NULL;
}

const char *
crashes_text(const Crashes *crashes, int64 now_us)
{
	return now_us - crashes->last_us < QUIET_US ? crashes->text : NULL;
}
