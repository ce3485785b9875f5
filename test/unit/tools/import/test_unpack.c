/*-------------------------------------------------------------------------
 *
 * test_unpack.c
 *		Data of TwTasks unpacked: each format, broken in each way.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "packers.h"
#include "tools/import/unpack.h"

#define GZIP 1
#define LZ4 2
#define ZSTD 3

#define LIMIT 100000

static const char digits[] = "0123456789";

/* Streams that lz4-java 1.8.0 has written: of the ten digits 20 times. */
static const char java_digits[] =
"4c5a34426c6f636b2614000000c8000000ea6eee00af303132333435363738390a00a6503536373839"
"4c5a34426c6f636b16000000000000000000000000";

/* ... of 90 bytes that cannot be packed, in blocks of 64 */
static const char java_stored[] =
"4c5a34426c6f636b10400000004000000095821e020db45b02a950f79e45ec933ae1882fd67d24cb7219c0670eb55c03aa51f89f46"
"ed943be28930d77e25cc731ac1680fb65d04ab52f9a047ee953ce38a31d87f26"
"4c5a34426c6f636b101a0000001a0000008d08f409cd741bc26910b75e05ac53faa148ef963de48b32d98027ce751c"
"4c5a34426c6f636b10000000000000000000000000";

/* ... of nothing */
static const char java_nothing[] = "4c5a34426c6f636b16000000000000000000000000";

static StringInfoData out;

static Bytes
bytes_of(const StringInfoData *from)
{
	return (Bytes)
	{
		(const unsigned char *) from->data, (size_t) from->len
	};
}

static StringInfoData
from_hex(const char *hex)
{
	StringInfoData bytes;

	initStringInfo(&bytes);
	for (; *hex; hex += 2)
	{
		char		pair[3] = {hex[0], hex[1], 0};

		appendStringInfoChar(&bytes, (char) strtol(pair, NULL, 16));
	}
	return bytes;
}

static const char *
unpack_again(int format, const StringInfoData *packed, size_t limit)
{
	resetStringInfo(&out);
	return unpack(format, bytes_of(packed), limit, &out);
}

static void
assert_digits(int times)
{
	assert_int_equal(out.len, 10 * times);
	for (int i = 0; i < times; i++)
		assert_memory_equal(out.data + (ptrdiff_t) 10 * i, digits, 10);
}

static StringInfoData
many_digits(int times)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < times; i++)
		appendStringInfoString(&text, digits);
	return text;
}

/* Each cut, and each changed byte, is found, or the bytes are as they were. */
static void
assert_damage_found(int format, const StringInfoData *packed, int times)
{
	for (int cut = 0; cut < packed->len; cut++)
	{
		StringInfoData part = *packed;

		part.len = cut;
		assert_non_null(unpack_again(format, &part, LIMIT));
	}
	for (int i = 0; i < packed->len; i++)
	{
		const char *fault;

		packed->data[i] ^= 0x40;
		fault = unpack_again(format, packed, LIMIT);
		packed->data[i] ^= 0x40;
		if (fault == NULL)
			assert_digits(times);
	}
}

static void
test_plain(void **state)
{
	StringInfoData text = many_digits(3);

	assert_null(unpack_again(0, &text, LIMIT));
	assert_digits(3);
	text.len = 0;
	assert_null(unpack_again(0, &text, LIMIT));
	assert_int_equal(out.len, 0);
	text.len = 30;
	assert_string_equal(unpack_again(0, &text, 29), UNPACK_TOO_LARGE);
	pfree(text.data);
}

static void
test_gzip(void **state)
{
	StringInfoData text = many_digits(9000);
	StringInfoData packed = gzip_of(&text);
	StringInfoData twice = gzip_of(&text);

	assert_null(unpack_again(GZIP, &packed, LIMIT));
	assert_digits(9000);
	assert_string_equal(unpack_again(GZIP, &packed, 89999), UNPACK_TOO_LARGE);
	assert_damage_found(GZIP, &packed, 9000);
	appendBinaryStringInfo(&twice, twice.data, twice.len);
	assert_null(unpack_again(GZIP, &twice, 2 * LIMIT));
	assert_digits(18000);
	pfree(text.data);
	pfree(packed.data);
	pfree(twice.data);
}

static void
test_lz4(void **state)
{
	StringInfoData packed = from_hex(java_digits);
	StringInfoData stored = from_hex(java_stored);
	StringInfoData nothing = from_hex(java_nothing);

	assert_null(unpack_again(LZ4, &packed, LIMIT));
	assert_digits(20);
	assert_damage_found(LZ4, &packed, 20);
	assert_string_equal(unpack_again(LZ4, &packed, 199), UNPACK_TOO_LARGE);
	assert_null(unpack_again(LZ4, &stored, LIMIT));
	assert_int_equal(out.len, 90);
	for (int i = 0; i < 90; i++)
		assert_int_equal((unsigned char) out.data[i], (i * 167 + 13) % 256);
	assert_null(unpack_again(LZ4, &nothing, LIMIT));
	assert_int_equal(out.len, 0);
	appendStringInfoChar(&nothing, 'x');
	assert_non_null(unpack_again(LZ4, &nothing, LIMIT));
	pfree(packed.data);
	pfree(stored.data);
	pfree(nothing.data);
}

static void
test_zstd(void **state)
{
	StringInfoData text = many_digits(9000);
	StringInfoData packed = zstd_of(&text);

	assert_null(unpack_again(ZSTD, &packed, LIMIT));
	assert_digits(9000);
	assert_string_equal(unpack_again(ZSTD, &packed, 89999), UNPACK_TOO_LARGE);
	for (int cut = 0; cut < packed.len; cut++)
	{
		StringInfoData part = packed;

		part.len = cut;
		assert_non_null(unpack_again(ZSTD, &part, LIMIT));
	}
	pfree(text.data);
	pfree(packed.data);
}

/* Data that fills the room made for it exactly. */
static void
test_full_room(void **state)
{
	for (int len = 65535; len <= 2 * 65536 + 1; len += len % 65536 == 1 ? 65534 : 1)
	{
		StringInfoData text = many_digits(14000);

		text.len = len;
		for (int format = GZIP; format <= ZSTD; format += ZSTD - GZIP)
		{
			StringInfoData packed = format == GZIP ? gzip_of(&text) : zstd_of(&text);

			assert_null(unpack_again(format, &packed, 2 * LIMIT));
			assert_int_equal(out.len, len);
			assert_memory_equal(out.data, text.data, len);
			packed.len--;
			assert_non_null(unpack_again(format, &packed, 2 * LIMIT));
			pfree(packed.data);
		}
		pfree(text.data);
	}
}

static void
test_unknown(void **state)
{
	StringInfoData text = many_digits(1);

	assert_non_null(unpack_again(-1, &text, LIMIT));
	assert_non_null(unpack_again(4, &text, LIMIT));
	assert_non_null(unpack_again(GZIP, &text, LIMIT));
	assert_non_null(unpack_again(LZ4, &text, LIMIT));
	assert_non_null(unpack_again(ZSTD, &text, LIMIT));
	pfree(text.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_lz4),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_full_room),
		cmocka_unit_test(test_unknown),
	};

	initStringInfo(&out);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
