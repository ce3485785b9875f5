/*-------------------------------------------------------------------------
 *
 * sdnotify.h
 *		Tells systemd how the service is: ready, reloading, stopping, alive.
 *
 * One datagram per call to the socket named by NOTIFY_SOCKET.  Without that
 * variable every call does nothing.  A datagram that cannot be sent at once
 * is lost: telling must never hold up the daemon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SDNOTIFY_H
#define TWT_SDNOTIFY_H

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from
 * the environment, so that no child speaks for us.  Call it before the first
 * child is started.
 */
extern void sdnotify_init(void);

extern void sdnotify_ready(void);	/* also after a reload */
extern void sdnotify_reloading(void);
extern void sdnotify_stopping(void);
extern void sdnotify_status(const char *fmt,...) pg_attribute_printf(1, 2);
extern void sdnotify_watchdog(void);

/* How often to call sdnotify_watchdog(), in microseconds; 0: not at all. */
extern int64 sdnotify_watchdog_us(void);

#endif							/* TWT_SDNOTIFY_H */
