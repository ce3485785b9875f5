/*-------------------------------------------------------------------------
 *
 * lines.h
 *		Lines over pipes that do not block: collected to be written together,
 *		and taken one by one from what was read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LINES_H
#define TWT_LINES_H

/* Append whole lines to bytes; lines_write() takes them away. */
typedef struct LineWriter
{
	StringInfoData bytes;
	int			written;		/* the first so many have been */
	int64		sent;			/* bytes that were ever written */
} LineWriter;

typedef struct LineReader
{
	StringInfoData bytes;
	int			taken;			/* the first so many have been */
} LineReader;

typedef enum LinesResult
{
	LINES_OK,
	LINES_LATER,				/* the pipe is full, or empty */
	LINES_CLOSED				/* the other end is closed */
} LinesResult;

extern void line_writer_init(LineWriter *writer);
extern void line_writer_clear(LineWriter *writer);

/* Forgets what is not written; still usable. */
extern void line_writer_reset(LineWriter *writer);
extern int	lines_unwritten(const LineWriter *writer);

/* The bytes that are written before the next line begins. */
extern int64 lines_position(const LineWriter *writer);

/* LINES_OK: all is written. */
extern LinesResult lines_write(LineWriter *writer, int fd);

extern void line_reader_init(LineReader *reader);
extern void line_reader_clear(LineReader *reader);
extern void line_reader_reset(LineReader *reader);

/* Reads 64 kB at most. */
extern LinesResult lines_read(LineReader *reader, int fd);

/*
 * The next whole line, without its end and with a NUL there; NULL: there is
 * none.  Valid until the next call of any lines function.
 */
extern char *lines_next(LineReader *reader, size_t *len);

/* Length of the unfinished line. */
extern int	lines_unfinished(const LineReader *reader);

#endif							/* TWT_LINES_H */
