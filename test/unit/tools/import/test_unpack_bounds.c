/*-------------------------------------------------------------------------
 *
 * test_unpack_bounds.c
 *		Unpackers read no byte behind what is packed, and write none behind their room.
 *
 * Packed bytes end at a page that nobody may touch, and so does the room for what an
 * LZ4 block unpacks to.  A read or write too far ends the test with a signal.  Rooms
 * that grow keep the rule of StringInfo: there is one byte more than its length.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <lz4.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "check.h"
#include "packers.h"
#include "tools/import/unpack.h"

#define GZIP 1
#define LZ4 2
#define ZSTD 3

#define LIMIT 100000
#define STORED 0x10
#define PACKED 0x20
#define SEED 0x9747b28cU

/* The head of an LZ4 block. */
typedef struct Head
{
	int			token;
	uint32		packed;
	uint32		unpacked;
	uint32		hash;
} Head;

/* A mapping whose end nobody may touch. */
typedef struct Guarded
{
	char	   *mapping;
	size_t		size;
	char	   *bytes;			/* the last ones before its end */
} Guarded;

static Guarded
guarded(size_t len)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	size_t		before = (len / page + 1) * page;
	Guarded		made = {.size = before + page};

	made.mapping = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(made.mapping, MAP_FAILED);
	assert_int_equal(mprotect(made.mapping + before, page, PROT_NONE), 0);
	made.bytes = made.mapping + before - len;
	return made;
}

static void
release(Guarded *made)
{
	assert_int_equal(munmap(made->mapping, made->size), 0);
}

/* Unpacks the first len bytes, with the guard behind them. */
static const char *
unpack_guarded(int format, const StringInfoData *packed, size_t len, StringInfo out)
{
	Guarded		from = guarded(len);
	Bytes		bytes = {(const unsigned char *) from.bytes, len};
	const char *fault;

	memcpy(from.bytes, packed->data, len);
	fault = unpack(format, bytes, LIMIT, out);
	assert_true(out->len < out->maxlen);
	release(&from);
	return fault;
}

/* ---- streams ---- */

static void
add_little_endian(StringInfo out, uint32 value)
{
	for (int i = 0; i < 4; i++)
		appendStringInfoChar(out, (char) (value >> (8 * i)));
}

/* A block as lz4-java writes it, whatever its head says of the bytes. */
static void
add_block(StringInfo out, const Head *head, const char *bytes)
{
	appendStringInfoString(out, "LZ4Block");
	appendStringInfoChar(out, (char) head->token);
	add_little_endian(out, head->packed);
	add_little_endian(out, head->unpacked);
	add_little_endian(out, head->hash & 0x0fffffffU);
	appendBinaryStringInfo(out, bytes, (int) head->packed);
}

static uint32
hash_of(const char *bytes, size_t len)
{
	return XXH32(bytes, len, SEED);
}

static void
add_stored(StringInfo out, int token, const char *bytes, uint32 len)
{
	Head		head = {STORED | token, len, len, hash_of(bytes, len)};

	add_block(out, &head, bytes);
}

/* The bytes packed; the head says that unpacked of them come out. */
static void
add_packed(StringInfo out, const StringInfoData *text, uint32 unpacked, uint32 hash)
{
	char		packed[1000];
	int			len = LZ4_compress_default(text->data, packed, text->len, sizeof(packed));
	Head		head = {PACKED | 6, (uint32) len, unpacked, hash};

	assert_true(len > 0);
	add_block(out, &head, packed);
}

static void
add_end(StringInfo out)
{
	Head		head = {PACKED | 6, 0, 0, 0};

	add_block(out, &head, "");
}

static StringInfoData
many_digits(int len)
{
	StringInfoData text;

	initStringInfo(&text);
	while (text.len < len)
		appendStringInfoChar(&text, (char) ('0' + text.len % 10));
	return text;
}

/* A stream of two blocks. */
static StringInfoData
lz4_of(const StringInfoData *text)
{
	StringInfoData packed;

	initStringInfo(&packed);
	add_packed(&packed, text, (uint32) text->len, hash_of(text->data, (size_t) text->len));
	add_stored(&packed, 0, text->data, 10);
	add_end(&packed);
	return packed;
}

static StringInfoData
packed_of(int format, const StringInfoData *text)
{
	return format == GZIP ? gzip_of(text) : format == LZ4 ? lz4_of(text) : zstd_of(text);
}

static void
assert_refused(const StringInfoData *packed)
{
	StringInfoData out;

	initStringInfo(&out);
	assert_non_null(unpack_guarded(LZ4, packed, (size_t) packed->len, &out));
	pfree(out.data);
}

/* ---- what is read ---- */

/* Streams that are cut at each byte. */
static void
test_cuts(void **state)
{
	StringInfoData text = many_digits(500);
	StringInfoData out;

	initStringInfo(&out);
	for (int format = GZIP; format <= ZSTD; format++)
	{
		StringInfoData packed = packed_of(format, &text);

		for (int len = 0; len <= packed.len; len++)
		{
			const char *fault;

			resetStringInfo(&out);
			fault = unpack_guarded(format, &packed, (size_t) len, &out);
			if ((fault == NULL) != (len == packed.len))
				fail_msg("format %d, %d of %d bytes: %s", format, len, packed.len, fault ? fault : "taken");
		}
		assert_memory_equal(out.data, text.data, text.len);
		pfree(packed.data);
	}
	pfree(text.data);
	pfree(out.data);
}

/* A stored block is as long as it says, whatever follows it. */
static void
test_stored_length(void **state)
{
	StringInfoData text = many_digits(10);
	Head		head = {STORED | 6, 10};
	StringInfoData end;
	StringInfoData packed;

	initStringInfo(&end);
	add_end(&end);
	appendBinaryStringInfo(&text, end.data, end.len);
	head.unpacked = (uint32) text.len;
	head.hash = hash_of(text.data, (size_t) text.len);
	initStringInfo(&packed);
	add_block(&packed, &head, text.data);
	assert_refused(&packed);
	appendBinaryStringInfo(&packed, end.data, end.len);
	assert_refused(&packed);
	pfree(packed.data);
	pfree(end.data);
	pfree(text.data);
}

/* ---- what is written ---- */

/* A block fills its room exactly; a block of more bytes than it says is refused. */
static void
test_block_room(void **state)
{
	StringInfoData text = many_digits(200);

	for (uint32 said = 200; said >= 100; said -= 100)
	{
		Guarded		room = guarded(said + 1);
		StringInfoData out = {.data = room.bytes, .maxlen = (int) said + 1};
		StringInfoData packed;
		const char *fault;

		initStringInfo(&packed);
		add_packed(&packed, &text, said, hash_of(text.data, said));
		add_end(&packed);
		fault = unpack_guarded(LZ4, &packed, (size_t) packed.len, &out);
		assert_ptr_equal(out.data, room.bytes);
		assert_true((fault == NULL) == (said == 200));
		if (fault == NULL)
			assert_memory_equal(out.data, text.data, said);
		pfree(packed.data);
		release(&room);
	}
	pfree(text.data);
}

/* A block of fewer bytes than it says, whose hash fits to what was there before. */
static void
test_short_block(void **state)
{
	StringInfoData text = many_digits(100);
	StringInfoData whole = many_digits(200);
	StringInfoData out = many_digits(200);
	StringInfoData packed;

	initStringInfo(&packed);
	add_packed(&packed, &text, 200, hash_of(whole.data, 200));
	add_end(&packed);
	out.len = 0;
	assert_non_null(unpack_guarded(LZ4, &packed, (size_t) packed.len, &out));
	pfree(packed.data);
	pfree(out.data);
	pfree(whole.data);
	pfree(text.data);
}

static void
test_largest_block(void **state)
{
	StringInfoData text = many_digits(1025);

	for (uint32 len = 1024; len <= 1025; len++)
	{
		StringInfoData packed;
		StringInfoData out;

		initStringInfo(&out);
		initStringInfo(&packed);
		add_stored(&packed, 0, text.data, len);
		add_end(&packed);
		assert_true((unpack_guarded(LZ4, &packed, (size_t) packed.len, &out) == NULL) == (len == 1024));
		pfree(packed.data);
		pfree(out.data);
	}
	pfree(text.data);
}

/*
 * Room is asked for before it is used.  The memory is larger than the room, so that
 * only the lengths tell.
 */
static void
test_growth(void **state)
{
	StringInfoData text = many_digits(65536 + 10);

	for (int format = GZIP; format <= ZSTD; format++)
	{
		StringInfoData out = {.data = palloc(1024 * 1024), .maxlen = 16};
		StringInfoData packed;

		initStringInfo(&packed);
		if (format == LZ4)
		{
			add_stored(&packed, 6, text.data, 65536);
			add_stored(&packed, 6, text.data + 65536, 10);
			add_end(&packed);
		}
		else
		{
			pfree(packed.data);
			packed = packed_of(format, &text);
		}
		assert_null(unpack_guarded(format, &packed, (size_t) packed.len, &out));
		assert_int_equal(out.len, text.len);
		assert_memory_equal(out.data, text.data, text.len);
		pfree(packed.data);
		pfree(out.data);
	}
	pfree(text.data);
}

/* Unpackers refuse a bomb before they make much room for it. */
static void
test_bombs(void **state)
{
	Head		head = {PACKED | 15, 5, 32 * 1024 * 1024, 0};
	StringInfoData zeros;

	initStringInfo(&zeros);
	enlargeStringInfo(&zeros, 8 * 1024 * 1024);
	memset(zeros.data, 0, 8 * 1024 * 1024);
	zeros.len = 8 * 1024 * 1024;
	for (int format = GZIP; format <= ZSTD; format++)
	{
		StringInfoData packed;
		StringInfoData out;

		initStringInfo(&out);
		initStringInfo(&packed);
		if (format == LZ4)
			add_block(&packed, &head, "abcde");
		else
		{
			pfree(packed.data);
			packed = packed_of(format, &zeros);
		}
		assert_string_equal(unpack_guarded(format, &packed, (size_t) packed.len, &out), UNPACK_TOO_LARGE);
		assert_true(out.maxlen <= 4 * LIMIT);
		pfree(packed.data);
		pfree(out.data);
	}
	pfree(zeros.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_stored_length),
		cmocka_unit_test(test_block_room),
		cmocka_unit_test(test_short_block),
		cmocka_unit_test(test_largest_block),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_bombs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
