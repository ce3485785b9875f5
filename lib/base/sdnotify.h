/*-------------------------------------------------------------------------
 *
 * sdnotify.h
 *		Reports the state of the service to systemd: ready, reloading,
 *		stopping, alive.
 *
 * Each call sends one datagram to the socket named by NOTIFY_SOCKET.  Without
 * that variable every call does nothing.  A datagram that cannot be sent at
 * once is lost, because a report must never block the daemon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SDNOTIFY_H
#define TWT_SDNOTIFY_H

#include "base/loop.h"

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from
 * the environment, so that no child can send reports for us.  Call it before
 * the first child is started.
 */
extern void sdnotify_init(void);

extern void sdnotify_ready(void);	/* also after a reload */
extern void sdnotify_reloading(void);
extern void sdnotify_stopping(void);
extern void sdnotify_status(const char *fmt,...) pg_attribute_printf(1, 2);
extern void sdnotify_watchdog(void);

/* Interval for calls of sdnotify_watchdog(), in microseconds; 0: never. */
extern int64 sdnotify_watchdog_us(void);

/* Calls it in this interval, until the loop ends. */
extern void sdnotify_watch_open(Loop *loop);
extern void sdnotify_watch_close(void);

#endif							/* TWT_SDNOTIFY_H */
