/*-------------------------------------------------------------------------
 *
 * packed.h
 *		Packed bytes, and the contract of their unpackers.
 *
 * Each format has an unpacker.  It appends what was packed to out, which it may leave
 * half full when it fails, and returns NULL or the reason why it failed.  More than
 * limit bytes are a failure, however small the packed form is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PACKED_H
#define TWT_PACKED_H

typedef struct Bytes
{
	const unsigned char *bytes;
	size_t		len;
} Bytes;

#define UNPACK_TOO_LARGE "it is too large when unpacked"

#endif							/* TWT_PACKED_H */
