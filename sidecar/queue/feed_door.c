/*-------------------------------------------------------------------------
 *
 * feed_door.c
 *		Lone triggers by a named pipe, sooner than from shared memory.
 *
 *		from: src/queue/door.c			to: feed_news.c
 *
 * Each trigger comes from shared memory too.  So we take from the pipe only
 * tasks that can start here at once, and need not mind what it loses.  The
 * server's user alone can write to the pipe.  A line that it would not have
 * written is skipped.
 *
 * The end of the session closes the pipe; the next session has its own.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "queue/feed.h"
#include "queue/feed_kind.h"

/* Longer than any line of the server. */
#define MOST_LINE 1000

static void
take_line(Feed *feed, const char *line, size_t len)
{
	size_t		name = strcspn(line, " ");
	int			bucket = config_bucket(feed->config, line, name);
	Trigger		trigger;
	char		id[37];

	if (bucket < 0 || name == len || !trigger_decode(line + name + 1, len - name - 1, &trigger) ||
		trigger.due_us != 0 || !tables_can_start(feed->tables, bucket, &trigger))
		return;
	trigger_id_text(trigger.id, id);
	log_line(TWT_LOG_DEBUG, "queue", "task %s came through the door at version " INT64_FORMAT, id, trigger.version);
	feed_trigger(feed, bucket, &trigger);
}

static void
on_lines(void *arg, int events)
{
	Feed	   *feed = arg;
	LinesResult result = lines_read(&feed->door_lines, feed->door);
	const char *line;
	size_t		len;

	while ((line = lines_next(&feed->door_lines, &len)) != NULL)
		take_line(feed, line, len);
	if (lines_unfinished(&feed->door_lines) > MOST_LINE)
		(void) lines_skip(&feed->door_lines);
	if (result == LINES_CLOSED)
		feed_door_close(feed);
}

/* -1: the server made no pipe for us, or we may not read it. */
static int
open_pipe(const char *path)
{
	struct stat found;
	int			fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || (fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* Kafka would spread a trigger twice. */
void
feed_door_open(struct Feed *feed)
{
	char	   *path;

	if (feed->config->door_directory == NULL || feed->forward != NULL)
		return;
	path = psprintf("%s/" TRIGGER_PIPE "%d", feed->config->door_directory, pg_backend_pid(feed->pg));
	feed->door = open_pipe(path);
	if (feed->door < 0)
		log_line(TWT_LOG_WARN, "queue", "could not open the door \"%s\": %m", path);
	else
	{
		log_line(TWT_LOG_INFO, "queue", "lone triggers come through the door \"%s\" too", path);
		line_reader_init(&feed->door_lines);
		feed->door_io = loop_io_new(feed->loop, feed->door, on_lines, feed);
		loop_io_want(feed->door_io, LOOP_READ);
	}
	pfree(path);
}

void
feed_door_close(struct Feed *feed)
{
	if (feed->door < 0)
		return;
	loop_io_free(feed->door_io);
	line_reader_clear(&feed->door_lines);
	close(feed->door);
	feed->door = -1;
}
