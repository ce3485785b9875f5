/*-------------------------------------------------------------------------
 *
 * lz4_stream.h
 *		The block stream of lz4-java, which is not the frame format of LZ4.
 *
 * A stream is a row of blocks.  Each has a head of 21 bytes, in little endian:
 *
 *		8	"LZ4Block"
 *		1	method (0x10 stored, 0x20 LZ4), plus the size of its largest block:
 *			0 is 1 KiB, each step doubles it, 6 is the usual 64 KiB
 *		4	length of what follows
 *		4	length unpacked; 0 ends the stream
 *		4	xxhash32 of what was packed, of which 28 bits are kept
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LZ4_STREAM_H
#define TWT_LZ4_STREAM_H

#include "tools/import/packed.h"

/* An unpacker: see packed.h. */
extern const char *lz4_stream_unpack(Bytes packed, size_t limit, StringInfo out) MUSTCHECK;

#endif							/* TWT_LZ4_STREAM_H */
