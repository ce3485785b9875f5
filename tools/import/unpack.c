/*-------------------------------------------------------------------------
 *
 * unpack.c
 *		Data and contexts of TwTasks, as its formats pack them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <zlib.h>
#include <zstd.h>

#include "tools/import/lz4_stream.h"
#include "tools/import/unpack.h"

/* Room for so many bytes is made at a time. */
#define STEP 65536

/* This tells zlib: the largest window, and a head of gzip. */
#define GZIP_WINDOW (15 + 16)

static const char *
copy(Bytes packed, size_t limit, StringInfo out)
{
	if (packed.len > limit)
		return UNPACK_TOO_LARGE;
	appendBinaryStringInfo(out, (const char *) packed.bytes, (int) packed.len);
	return NULL;
}

/* ---- gzip ---- */

static const char *
inflate_all(z_stream * stream, size_t limit, StringInfo out)
{
	int			status = Z_OK;

	while (status == Z_OK)
	{
		enlargeStringInfo(out, STEP);
		stream->next_out = (unsigned char *) out->data + out->len;
		stream->avail_out = STEP;
		status = inflate(stream, Z_NO_FLUSH);
		out->len += STEP - (int) stream->avail_out;
		if ((size_t) out->len > limit)
			return UNPACK_TOO_LARGE;
		/* The decompressor of Java reads several members as one. */
		if (status == Z_STREAM_END && stream->avail_in > 0)
			status = inflateReset(stream);
	}
	return status == Z_STREAM_END ? NULL : "the gzip stream is broken or cut";
}

static const char *
gunzip(Bytes packed, size_t limit, StringInfo out)
{
	z_stream	stream = {.next_in = (unsigned char *) packed.bytes, .avail_in = (uInt) packed.len};
	const char *fault;

	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return "zlib could not be started";
	fault = inflate_all(&stream, limit, out);
	(void) inflateEnd(&stream);
	return fault;
}

/* ---- zstd ---- */

static const char *
zstd_all(ZSTD_DStream * stream, Bytes packed, size_t limit, StringInfo out)
{
	ZSTD_inBuffer from = {packed.bytes, packed.len, 0};
	size_t		left;

	for (;;)
	{
		ZSTD_outBuffer to = {NULL, STEP, 0};

		enlargeStringInfo(out, STEP);
		to.dst = out->data + out->len;
		left = ZSTD_decompressStream(stream, &to, &from);
		if (ZSTD_isError(left))
			return "the zstd stream is broken";
		out->len += (int) to.pos;
		if ((size_t) out->len > limit)
			return UNPACK_TOO_LARGE;
		if (from.pos == from.size && left == 0)
			return NULL;
		if (from.pos == from.size && to.pos < to.size)
			return "the zstd stream is cut";
	}
}

static const char *
unzstd(Bytes packed, size_t limit, StringInfo out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	const char *fault;

	if (stream == NULL)
		return "zstd could not be started";
	fault = zstd_all(stream, packed, limit, out);
	(void) ZSTD_freeDStream(stream);
	return fault;
}

const char *
unpack(int format, Bytes packed, size_t limit, StringInfo out)
{
	static const char *(*const unpackers[]) (Bytes, size_t, StringInfo) = {copy, gunzip, lz4_stream_unpack, unzstd};

	if (format < 0 || format >= (int) lengthof(unpackers))
		return "its format is not one of 0 to 3";
	return unpackers[format] (packed, limit, out);
}
