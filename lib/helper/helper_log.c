/*-------------------------------------------------------------------------
 *
 * helper_log.c
 *		Copies the stderr of a process that stays to our log, line by line.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/output.h"
#include "helper/helper_log.h"

#define LINE_MAX_BYTES 1024

/* A token bucket: it holds this many lines and gains one per period. */
#define BURST 100
#define PERIOD_US MS_TO_US(100)

struct HelperLog
{
	Loop	   *loop;
	const char *name;
	char		line[LINE_MAX_BYTES];
	int			len;			/* length of the unfinished line */
	int			last_len;		/* length of the last line, if none is
								 * unfinished */
	int64		paid_until_us;	/* the state of the bucket: see may_log() */
	int64		left_out;		/* lines dropped since the last logged one */
	Output		kept;			/* the last bytes */
};

HelperLog *
helper_log_new(Loop *loop, const char *name)
{
	HelperLog  *log = palloc0(sizeof(HelperLog));

	log->loop = loop;
	log->name = name;
	return log;
}

void
helper_log_free(HelperLog *log)
{
	output_clear(&log->kept);
	pfree(log);
}

/*
 * Each line moves paid_until_us on by a period.  The bucket is full when that
 * time is BURST periods in the past.
 */
static bool
may_log(HelperLog *log)
{
	int64		now_us = loop_now_us(log->loop);
	int64		full_us = now_us - BURST * PERIOD_US;

	log->paid_until_us = Max(log->paid_until_us, full_us);
	if (log->paid_until_us + PERIOD_US > now_us)
		return false;
	log->paid_until_us += PERIOD_US;
	return true;
}

static void
end_line(HelperLog *log, int pid)
{
	if (!may_log(log))
		log->left_out++;
	else
	{
		if (log->left_out > 0)
			log_line(TWT_LOG_WARN, "worker", "%s[%d]: lines left out: " INT64_FORMAT,
					 log->name, pid, log->left_out);
		log_line(TWT_LOG_INFO, "worker", "%s[%d]: %.*s", log->name, pid,
				 log->len, log->line);
		log->left_out = 0;
	}
	log->last_len = log->len;
	log->len = 0;
}

void
helper_log_add(HelperLog *log, int pid, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	output_add(&log->kept, bytes, len);
	while (bytes < end)
	{
		const char *newline = memchr(bytes, '\n', end - bytes);
		size_t		n = (newline ? newline : end) - bytes;
		size_t		room = sizeof(log->line) - log->len;

		memcpy(log->line + log->len, bytes, Min(n, room));
		log->len += Min(n, room);
		if (newline == NULL)
			return;
		end_line(log, pid);
		bytes = newline + 1;
	}
}

void
helper_log_end(HelperLog *log, int pid)
{
	if (log->len > 0)
		end_line(log, pid);
}

const char *
helper_log_last(const HelperLog *log, int *len)
{
	*len = log->len > 0 ? log->len : log->last_len;
	return log->line;
}

void
helper_log_begin(HelperLog *log)
{
	log->len = log->last_len = 0;
	helper_log_keep(log, 0);
}

void
helper_log_keep(HelperLog *log, size_t max)
{
	output_clear(&log->kept);
	output_init(&log->kept, max);
}

void
helper_log_append(const HelperLog *log, StringInfo out)
{
	StringInfoData text;

	initStringInfo(&text);
	output_append(&log->kept, &text);
	if (text.len > 0)
		appendStringInfo(out, ": %s", text.data);
	pfree(text.data);
}
