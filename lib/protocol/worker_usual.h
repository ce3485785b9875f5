/*-------------------------------------------------------------------------
 *
 * worker_usual.h
 *		The usual replies of a worker, read without a parser.
 *
 *		from: worker_protocol.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_USUAL_H
#define TWT_WORKER_USUAL_H

#include "protocol/worker_word.h"

/*
 * Reads {"id":"...","version":N,"result":"..."}, the same with an array "add" at
 * its end, and the same with "started":true in place of both; the first and the last
 * form also for "ids" and "versions".  False for all else.  The caller has cleared the
 * reply, and clears it again after false.
 */
extern bool worker_usual_decode(const char *line, size_t len, WorkerReply *reply) MUSTCHECK;

#endif							/* TWT_WORKER_USUAL_H */
