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

/* Append whole lines to bytes; lines_write() writes and removes them. */
typedef struct LineWriter
{
	StringInfoData bytes;
	int			written;		/* bytes that were written */
	int64		sent;			/* bytes that were ever written */
} LineWriter;

typedef struct LineReader
{
	StringInfoData bytes;
	int			taken;			/* bytes that were taken */
	bool		skips;			/* drops bytes until the next line end */
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

/* Position in the stream at which the next line begins. */
extern int64 lines_position(const LineWriter *writer);

/* LINES_OK: everything is written. */
extern LinesResult lines_write(LineWriter *writer, int fd);

extern void line_reader_init(LineReader *reader);
extern void line_reader_clear(LineReader *reader);
extern void line_reader_reset(LineReader *reader);

/* Reads 64 kB at most. */
extern LinesResult lines_read(LineReader *reader, int fd);

/*
 * Returns the next whole line, with a NUL in place of its end; NULL if there
 * is none.  The line is valid until the next call of any lines function.
 */
extern char *lines_next(LineReader *reader, size_t *len);

/* Length of the unfinished line. */
extern int	lines_unfinished(const LineReader *reader);

/*
 * Drops the unfinished line, with the bytes of it that follow, and returns what it
 * had so far, with a NUL behind; valid as a line is.
 */
extern char *lines_skip(LineReader *reader);

#endif							/* TWT_LINES_H */
