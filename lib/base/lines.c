#include "base/port.h"

#include <errno.h>
#include <unistd.h>

#include "base/lines.h"

#define READ_BYTES (64 * 1024)

/* An empty buffer larger than this is freed. */
#define KEEP_BYTES (1024 * 1024)

static void
reset(StringInfo bytes, int *used)
{
	if (bytes->maxlen > KEEP_BYTES)
	{
		pfree(bytes->data);
		initStringInfo(bytes);
	}
	resetStringInfo(bytes);
	*used = 0;
}

/*
 * Moves the rest to the front only when more bytes were used than are left, so
 * that each used byte pays for at most one move.
 */
static void
forget_used(StringInfo bytes, int *used)
{
	int			left = bytes->len - *used;

	if (left == 0)
		reset(bytes, used);
	else if (left < *used)
	{
		memmove(bytes->data, bytes->data + *used, left);
		bytes->len = left;
		*used = 0;
	}
}

static LinesResult
judge_error(void)
{
	return errno == EAGAIN || errno == EINTR ? LINES_LATER : LINES_CLOSED;
}

void
line_writer_init(LineWriter *writer)
{
	initStringInfo(&writer->bytes);
	writer->written = 0;
	writer->sent = 0;
}

void
line_writer_clear(LineWriter *writer)
{
	pfree(writer->bytes.data);
}

void
line_writer_reset(LineWriter *writer)
{
	reset(&writer->bytes, &writer->written);
}

int
lines_unwritten(const LineWriter *writer)
{
	return writer->bytes.len - writer->written;
}

int64
lines_position(const LineWriter *writer)
{
	return writer->sent + lines_unwritten(writer);
}

LinesResult
lines_write(LineWriter *writer, int fd)
{
	ssize_t		n = write(fd, writer->bytes.data + writer->written,
						  lines_unwritten(writer));

	if (n < 0)
		return judge_error();
	writer->written += n;
	writer->sent += n;
	forget_used(&writer->bytes, &writer->written);
	return lines_unwritten(writer) == 0 ? LINES_OK : LINES_LATER;
}

void
line_reader_init(LineReader *reader)
{
	initStringInfo(&reader->bytes);
	reader->taken = 0;
	reader->skips = false;
}

void
line_reader_clear(LineReader *reader)
{
	pfree(reader->bytes.data);
}

void
line_reader_reset(LineReader *reader)
{
	reset(&reader->bytes, &reader->taken);
	reader->skips = false;
}

LinesResult
lines_read(LineReader *reader, int fd)
{
	StringInfo	bytes = &reader->bytes;
	ssize_t		n;

	forget_used(bytes, &reader->taken);
	enlargeStringInfo(bytes, READ_BYTES);
	n = read(fd, bytes->data + bytes->len, READ_BYTES);
	if (n < 0)
		return judge_error();
	bytes->len += n;
	return n > 0 ? LINES_OK : LINES_CLOSED;
}

/* Takes the rest of a dropped line; false: its end is still to come. */
static bool
end_skipping(LineReader *reader)
{
	char	   *rest = reader->bytes.data + reader->taken;
	char	   *newline = memchr(rest, '\n', lines_unfinished(reader));

	reader->skips = newline == NULL;
	reader->taken = newline == NULL ? reader->bytes.len : newline + 1 - reader->bytes.data;
	return !reader->skips;
}

char *
lines_next(LineReader *reader, size_t *len)
{
	char	   *line;
	char	   *newline;

	if (reader->skips && !end_skipping(reader))
		return NULL;
	line = reader->bytes.data + reader->taken;
	newline = memchr(line, '\n', lines_unfinished(reader));
	if (newline == NULL)
		return NULL;
	*newline = '\0';
	*len = newline - line;
	reader->taken += *len + 1;
	return line;
}

int
lines_unfinished(const LineReader *reader)
{
	return reader->bytes.len - reader->taken;
}

char *
lines_skip(LineReader *reader)
{
	char	   *line = reader->bytes.data + reader->taken;

	reader->bytes.data[reader->bytes.len] = '\0';
	reader->taken = reader->bytes.len;
	reader->skips = true;
	return line;
}
