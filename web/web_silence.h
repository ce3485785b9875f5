/*-------------------------------------------------------------------------
 *
 * web_silence.h
 *		Whether any sidecar counts tasks, and people told if none does.
 *
 *		from: main.c		to: notify.h, sql/operate/silence.sql
 *
 * The leading sidecar judges what is wrong, so it cannot say that none leads any
 * more.  This program asks the database for that, on a session of its own.  While no
 * sidecar counts it also sends what the leader would send, by the same helper.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WEB_SILENCE_H
#define TWT_WEB_SILENCE_H

#include "base/loop.h"
#include "web/web_config.h"

typedef struct WebSilence WebSilence;

/* The configuration stays the caller's. */
extern WebSilence *web_silence_open(Loop *loop, const WebConfig *config);
extern void web_silence_set_config(WebSilence *silence, const WebConfig *config);

/* Starts and ends the helper: call it in each turn. */
extern void web_silence_pump(WebSilence *silence);

/* Ends the helper: no message goes out any more. */
extern void web_silence_stop(WebSilence *silence);
extern bool web_silence_is_down(const WebSilence *silence);
extern void web_silence_close(WebSilence *silence);

#endif							/* TWT_WEB_SILENCE_H */
