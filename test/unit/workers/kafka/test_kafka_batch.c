/*-------------------------------------------------------------------------
 *
 * test_kafka_batch.c
 *		A batch gives back its messages, and one that is cut or forged is none.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "port/pg_bswap.h"
#include "workers/kafka/kafka_batch.h"

static StringInfoData bytes;

static void
add_number(int number)
{
	uint32		raw = pg_hton32((uint32) number);

	appendBinaryStringInfo(&bytes, (char *) &raw, sizeof(raw));
}

static void
add_text(const char *text)
{
	add_number(text == NULL ? -1 : (int) strlen(text));
	appendStringInfoString(&bytes, text == NULL ? "" : text);
}

static KafkaBatch
batch_of(int len)
{
	KafkaBatch	batch = {bytes.data, bytes.data + len};

	return batch;
}

static void
add_message(const char *key, const char *value)
{
	add_text(key);
	add_text(value);
	add_number(2);
	add_text("name");
	add_text("x");
	add_text("none");
	add_text(NULL);
}

static void
test_messages(void **state)
{
	KafkaBatch	batch;
	KafkaMessage message;
	KafkaBytes	name;
	KafkaBytes	value;

	initStringInfo(&bytes);
	add_message("key", NULL);
	add_message(NULL, "");
	batch = batch_of(bytes.len);
	assert_int_equal(kafka_batch_count(batch), 2);
	assert_true(kafka_batch_next(&batch, &message));
	assert_memory_equal(message.key.bytes, "key", 3);
	assert_null(message.value.bytes);
	assert_true(kafka_batch_header(&message.headers, &name, &value));
	assert_memory_equal(name.bytes, "name", 4);
	assert_int_equal(value.len, 1);
	assert_true(kafka_batch_header(&message.headers, &name, &value));
	assert_null(value.bytes);
	assert_false(kafka_batch_header(&message.headers, &name, &value));
	assert_true(kafka_batch_next(&batch, &message));
	assert_null(message.key.bytes);
	assert_non_null(message.value.bytes);
	assert_false(kafka_batch_next(&batch, &message));
	pfree(bytes.data);
}

/* Each beginning is a batch of whole messages, or none. */
static void
test_cut(void **state)
{
	int			one;

	initStringInfo(&bytes);
	add_message("key", "value");
	one = bytes.len;
	add_message("key", "value");
	for (int len = 0; len < bytes.len; len++)
		assert_int_equal(kafka_batch_count(batch_of(len)), len == 0 ? 0 : len == one ? 1 : -1);
	pfree(bytes.data);
}

static void
test_forged(void **state)
{
	static const int numbers[] = {-2, PG_INT32_MIN, PG_INT32_MAX, 1000};

	for (size_t i = 0; i < lengthof(numbers); i++)
		for (int at = 0; at < 3; at++)
		{
			initStringInfo(&bytes);
			for (int n = 0; n < 3; n++)
				add_number(n == at ? numbers[i] : 0);
			assert_int_equal(kafka_batch_count(batch_of(bytes.len)), -1);
			pfree(bytes.data);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
