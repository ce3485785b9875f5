/*-------------------------------------------------------------------------
 *
 * test_output.c
 *		The end of what a handler wrote, made safe to store with its task; and
 *		lines over pipes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "mb/pg_wchar.h"

#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "base/lines.h"
#include "base/output.h"

static Output output;

static char *
kept(void)
{
	static StringInfoData out;

	if (out.data == NULL)
		initStringInfo(&out);
	resetStringInfo(&out);
	output_append(&output, &out);
	return out.data;
}

static void
add(const char *bytes)
{
	output_add(&output, bytes, strlen(bytes));
}

static void
test_empty(void **state)
{
	output_init(&output, 10);
	assert_string_equal(kept(), "");
	add("");
	assert_string_equal(kept(), "");
	add(" \n\t\n");
	assert_string_equal(kept(), "");
	output_clear(&output);
}

static void
test_tail(void **state)
{
	output_init(&output, 10);
	add("0123456789");
	assert_string_equal(kept(), "0123456789");
	add("a");
	assert_string_equal(kept(), "...123456789a");
	add("bcdefghijklmnopqrstuvwxyz\n");
	assert_string_equal(kept(), "...rstuvwxyz");
	output_clear(&output);
	assert_string_equal(kept(), "");
	add("again");
	assert_string_equal(kept(), "again");
	output_clear(&output);
}

static void
test_escapes(void **state)
{
	output_init(&output, 100);
	output_add(&output, "a\0b\x1b[0m\r\n\x7f\xff\xc3\xa9\xe2\x82", 15);
	assert_string_equal(kept(), "a\\x00b\\x1b[0m\\x0d\n\\x7f\\xff\xc3\xa9"
						"\\xe2\\x82");
	output_clear(&output);

	/* Escaped it is longer, but not longer than allowed. */
	output_init(&output, 10);
	output_add(&output, "abcdefg\0\0\0", 10);
	assert_string_equal(kept(), "...\\x00\\x00");
	output_clear(&output);
}

static void
test_cut_character(void **state)
{
	output_init(&output, 4);
	add("\xe2\x82\xac\xe2\x82\xac");	/* two euro signs */
	assert_string_equal(kept(), "...\xe2\x82\xac");
	output_clear(&output);

	/* Bytes that only look like the rest of one are kept when nothing is cut */
	output_init(&output, 8);
	add("\x82\xac");
	assert_string_equal(kept(), "\\x82\\xac");
	output_clear(&output);
}

/* Against the whole that was written: a valid text, and the end of it. */
static void
test_random(void **state)
{
	static const char *const pieces[] = {
		"a", "\n", "\xc3\xa9", "\xf0\x9f\x90\x98", "\xff", "\x1b", " "
	};
	Chance		chance;
	int			step;

	chance_init(&chance, test_seed());
	for (step = 0; step < 5000; step++)
	{
		int			max = chance_below(&chance, 40);
		int			npieces = chance_below(&chance, 100);
		const char *result;
		const char *p;

		output_init(&output, max);
		while (npieces-- > 0)
			add(pieces[chance_below(&chance, lengthof(pieces))]);
		result = kept();
		check_that(11, step, strlen(result) <= (size_t) max + 3);
		for (p = result; *p; p += pg_utf_mblen((const unsigned char *) p))
			check_that(11, step,
					   pg_utf8_islegal((const unsigned char *) p,
									   pg_utf_mblen((const unsigned char *) p)));
		output_clear(&output);
	}
}

/* ---- lines ---- */

/* Lines of all lengths arrive whole, though the pipe takes only a part. */
static void
test_lines(void **state)
{
	LineWriter	writer;
	LineReader	reader;
	Chance		chance;
	int			fds[2];
	int			nwritten = 0;
	int			nread = 0;

	chance_init(&chance, test_seed());
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	line_writer_init(&writer);
	line_reader_init(&reader);
	while (nread < 3000)
	{
		char	   *line;
		size_t		len;

		while (nwritten < 3000 && lines_unwritten(&writer) < 200000)
			appendStringInfo(&writer.bytes, "%d %*d\n", nwritten++,
							 chance_below(&chance, 3000), 0);
		if (lines_unwritten(&writer) > 0)
			assert_int_not_equal(lines_write(&writer, fds[1]), LINES_CLOSED);
		if (chance_percent(&chance, 50))
			continue;
		lines_read(&reader, fds[0]);
		while ((line = lines_next(&reader, &len)))
		{
			assert_int_equal(strlen(line), len);
			assert_int_equal(strtol(line, NULL, 10), nread++);
		}
	}
	assert_int_equal(lines_unwritten(&writer), 0);
	assert_int_equal(lines_unfinished(&reader), 0);
	assert_int_equal(lines_read(&reader, fds[0]), LINES_LATER);
	close(fds[1]);
	assert_int_equal(lines_read(&reader, fds[0]), LINES_CLOSED);
	close(fds[0]);
	line_writer_clear(&writer);
	line_reader_clear(&reader);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_cut_character),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
