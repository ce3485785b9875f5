/*-------------------------------------------------------------------------
 *
 * test_message.c
 *		The headers of any message are valid JSON that PostgreSQL can read.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "check.h"
#include "workers/kafka/message.h"

static void
add(rd_kafka_headers_t * headers, const char *name, const char *value, int len)
{
	assert_int_equal(rd_kafka_header_add(headers, name, -1, value, len), 0);
}

static void
test_headers(void **state)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
	char	   *text;

	assert_null(message_headers_json(NULL));
	assert_null(message_headers_json(headers));
	add(headers, "a\"b", "1", 1);
	add(headers, "none", NULL, 0);
	add(headers, "empty", "", 0);
	add(headers, "bytes", "x\0\xff" "y", 4);
	text = message_headers_json(headers);
	assert_string_equal(text, "{\"a\\\"b\":\"1\",\"none\":null,\"empty\":\"\","
						"\"bytes\":\"\\\\x7800ff79\"}");
	pfree(text);
	rd_kafka_headers_destroy(headers);
}

/* Different bytes give different texts, also those that look like the hexadecimal form. */
static void
test_bytes(void **state)
{
	static const struct
	{
		const char *bytes;
		int			len;
		const char *text;
	}			cases[] = {
		{"key-4", 5, "key-4"},
		{"\xc3\xa9", 2, "\xc3\xa9"},
		{"\xef\xbf\xbd", 3, "\xef\xbf\xbd"},
		{"\xff", 1, "\\xff"},
		{"\xfe", 1, "\\xfe"},
		{"\0", 1, "\\x00"},
		{"\xed\xa0\x80", 3, "\\xeda080"},
		{"\xc3", 1, "\\xc3"},
		{"\xc0\x80", 2, "\\xc080"},
		{"\xf4\x90\x80\x80", 4, "\\xf4908080"},
		{"\\xff", 4, "\\x5c786666"},
		{"\\xFF", 4, "\\xFF"},
		{"\\xf", 3, "\\xf"},
		{"\\x", 2, "\\x"},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
		char	   *text;
		json_t	   *json;

		add(headers, "h", cases[i].bytes, cases[i].len);
		text = message_headers_json(headers);
		json = json_loads(text, 0, NULL);
		assert_string_equal(json_string_value(json_object_get(json, "h")), cases[i].text);
		json_decref(json);
		pfree(text);
		rd_kafka_headers_destroy(headers);
	}
}

static void
test_large_headers(void **state)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
	int			len = 1024 * 1024;
	char	   *value = palloc(len);
	char	   *text;
	json_t	   *json;

	memset(value, '\x01', len);
	for (int i = 0; i < 10000; i++)
	{
		char	   *name = psprintf("h%d", i);

		add(headers, name, "\"", 1);
		pfree(name);
	}
	add(headers, "large", value, len);
	text = message_headers_json(headers);
	json = json_loads(text, 0, NULL);
	assert_int_equal(json_object_size(json), 10001);
	assert_int_equal(json_string_length(json_object_get(json, "large")), len);
	json_decref(json);
	pfree(text);
	pfree(value);
	rd_kafka_headers_destroy(headers);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_large_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
