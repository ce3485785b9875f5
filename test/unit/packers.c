/*-------------------------------------------------------------------------
 *
 * packers.c
 *		Texts packed as a source of tasks may have packed them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <zlib.h>
#include <zstd.h>

#include "check.h"
#include "packers.h"

StringInfoData
gzip_of(const StringInfoData *text)
{
	z_stream	stream = {.next_in = (unsigned char *) text->data, .avail_in = (uInt) text->len};
	StringInfoData packed;

	initStringInfo(&packed);
	enlargeStringInfo(&packed, text->len + 100);
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = (unsigned char *) packed.data;
	stream.avail_out = (uInt) text->len + 100;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	packed.len = (int) stream.total_out;
	deflateEnd(&stream);
	return packed;
}

StringInfoData
zstd_of(const StringInfoData *text)
{
	StringInfoData packed;
	size_t		room = ZSTD_compressBound((size_t) text->len);

	initStringInfo(&packed);
	enlargeStringInfo(&packed, (int) room);
	packed.len = (int) ZSTD_compress(packed.data, room, text->data, (size_t) text->len, 3);
	return packed;
}
