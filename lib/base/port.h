/*-------------------------------------------------------------------------
 *
 * port.h
 *		The first include of every file that runs outside the server.
 *
 * PostgreSQL's frontend environment gives us its types, allocation that
 * never returns NULL (palloc ends the process when memory is out), lists
 * and StringInfo: the same idiom as in the extension.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PORT_H
#define TWT_PORT_H

#include "postgres_fe.h"

#include "lib/ilist.h"
#include "lib/stringinfo.h"

/* The caller must look at the result, which may be a failure. */
#define MUSTCHECK __attribute__((warn_unused_result))

#define MS_TO_US(ms) ((int64) (ms) * 1000)
#define SECONDS_TO_US(s) ((int64) (s) * 1000000)

#endif							/* TWT_PORT_H */
