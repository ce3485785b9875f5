/*-------------------------------------------------------------------------
 *
 * test_trigger_line.c
 *		The lines of triggers between a sidecar and its helper.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "protocol/trigger_line.h"

/* A line that the other side writes is read, and no other one. */
static void
test_lines(void **state)
{
	Trigger		trigger = {.type = "T|x", .type_len = 3, .version = 7, .priority = 5};
	Trigger		read;
	int			bucket;
	StringInfoData out;

	initStringInfo(&out);
	trigger_line_add(&out, "send", 12, &trigger);
	out.data[--out.len] = '\0';
	assert_true(trigger_line_read(out.data, out.len, "send", &bucket, &read));
	assert_int_equal(bucket, 12);
	assert_string_equal(read.type, "T|x");
	assert_int_equal(read.version, 7);
	assert_false(trigger_line_read(out.data, out.len, "sen", &bucket, &read));
	assert_false(trigger_line_read(out.data, out.len, "got", &bucket, &read));
	for (int len = 0; len < out.len; len++)
	{
		char	   *part = pnstrdup(out.data, len);

		assert_false(trigger_line_read(part, len, "send", &bucket, &read));
		pfree(part);
	}
	assert_false(trigger_line_read("{\"send\":-1,\"trigger\":\"x\"}", 26, "send", &bucket, &read));
	pfree(out.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
