/*-------------------------------------------------------------------------
 *
 * unpack.h
 *		Data and contexts of TwTasks, as its formats pack them.
 *
 *		from: task_json.c		to: lz4_stream.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_UNPACK_H
#define TWT_UNPACK_H

#include "tools/import/packed.h"

/*
 * unpack -- unpacks by the number of the format: 0 none, 1 gzip, 2 LZ4 (the block
 * stream of lz4-java), 3 zstd.
 */
extern const char *unpack(int format, Bytes packed, size_t limit, StringInfo out) MUSTCHECK;

#endif							/* TWT_UNPACK_H */
