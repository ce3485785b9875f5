/*-------------------------------------------------------------------------
 *
 * ctl_end.h
 *		How twtasksctl and twtasks-import end: exit statuses, and messages for people.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_END_H
#define TWT_CTL_END_H

/* Exit statuses, which scripts rely on. */
typedef enum CtlStatus
{
	CTL_DONE = 0,
	CTL_REFUSED = 1,			/* refused, or the task is in another state */
	CTL_USAGE = 2,
	CTL_NO_DATABASE = 3,
	CTL_WRONG = 4				/* status, doctor: something is wrong */
} CtlStatus;

/* Ends the program after a message for people. */
extern void ctl_fail(CtlStatus status, const char *fmt,...)
			pg_attribute_printf(2, 3) __attribute__((noreturn));

#endif							/* TWT_CTL_END_H */
