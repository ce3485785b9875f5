/*-------------------------------------------------------------------------
 *
 * packers.h
 *		Texts packed as a source of tasks may have packed them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PACKERS_H
#define TWT_PACKERS_H

#include "lib/stringinfo.h"

/* The caller frees the bytes. */
extern StringInfoData gzip_of(const StringInfoData *text);
extern StringInfoData zstd_of(const StringInfoData *text);

#endif							/* TWT_PACKERS_H */
