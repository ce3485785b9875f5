/*-------------------------------------------------------------------------
 *
 * results.h
 *		Results of accepted tasks, received over HTTP.
 *
 *		from: http.h			to: sql/run/finish_task.sql
 *
 *	 POST /api/tasks/ID/finish		the result of the task
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RESULTS_H
#define TWT_RESULTS_H

#include "base/loop.h"
#include "web/http.h"
#include "web/web_config.h"

typedef struct Results Results;

/* Opens a session of the database, and more of them when they are needed. */
extern Results *results_open(Loop *loop, const WebConfig *config, Http *http);

/* Why results cannot be stored now; NULL: they can. */
extern const char *results_trouble(const Results *results);

/*
 * Call it before http_close().  It answers requests whose results are being
 * sent.
 */
extern void results_close(Results *results);

#endif							/* TWT_RESULTS_H */
