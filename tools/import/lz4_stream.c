/*-------------------------------------------------------------------------
 *
 * lz4_stream.c
 *		The block stream of lz4-java.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <lz4.h>
#include <xxhash.h>

#include "tools/import/lz4_stream.h"

#define MAGIC "LZ4Block"
#define HEAD 21

#define METHOD_STORED 0x10
#define METHOD_LZ4 0x20

/* Constants of lz4-java. */
#define SEED 0x9747b28cU
#define HASH_MASK 0x0fffffffU

typedef struct Block
{
	int			method;
	uint32		largest;		/* unpacked */
	uint32		packed;
	uint32		unpacked;
	uint32		hash;
} Block;

static uint32
little_endian(const unsigned char *bytes)
{
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32) bytes[3] << 24;
}

static bool
read_head(Bytes rest, Block *block)
{
	const unsigned char *bytes = rest.bytes;
	int			token;

	if (rest.len < HEAD || memcmp(bytes, MAGIC, strlen(MAGIC)) != 0)
		return false;
	token = bytes[strlen(MAGIC)];
	block->method = token & 0xf0;
	block->largest = 1U << (10 + (token & 0x0f));
	block->packed = little_endian(bytes + 9);
	block->unpacked = little_endian(bytes + 13);
	block->hash = little_endian(bytes + 17);
	return block->unpacked <= block->largest && (block->packed == 0) == (block->unpacked == 0);
}

/* Appends one block to out. */
static bool
unpack_block(const Block *block, const unsigned char *bytes, StringInfo out)
{
	char	   *to;

	enlargeStringInfo(out, (int) block->unpacked);
	to = out->data + out->len;
	if (block->method == METHOD_STORED && block->packed == block->unpacked)
		memcpy(to, bytes, block->unpacked);
	else if (block->method != METHOD_LZ4 ||
			 LZ4_decompress_safe((const char *) bytes, to, (int) block->packed, (int) block->unpacked) !=
			 (int) block->unpacked)
		return false;
	if ((XXH32(to, block->unpacked, SEED) & HASH_MASK) != block->hash)
		return false;
	out->len += (int) block->unpacked;
	return true;
}

const char *
lz4_stream_unpack(Bytes packed, size_t limit, StringInfo out)
{
	Block		block;

	for (;;)
	{
		if (!read_head(packed, &block) || block.packed > packed.len - HEAD)
			return "a block of the LZ4 stream is broken or missing";
		packed.bytes += HEAD;
		packed.len -= HEAD;
		if (block.unpacked == 0)
			return packed.len == 0 ? NULL : "bytes follow the end of the LZ4 stream";
		if (block.unpacked > limit - out->len)
			return UNPACK_TOO_LARGE;
		if (!unpack_block(&block, packed.bytes, out))
			return "a block of the LZ4 stream is broken: its checksum differs";
		packed.bytes += block.packed;
		packed.len -= block.packed;
	}
}
