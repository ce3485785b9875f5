/*-------------------------------------------------------------------------
 *
 * settings.h
 *		The settings (GUCs) of the extension, except twtasks.context (add/context.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SETTINGS_H
#define TWT_SETTINGS_H

extern bool twt_enabled;		/* twtasks.enabled */
extern int	twt_queue_size;		/* twtasks.queue_size, triggers per queue */
extern int	twt_queues;			/* twtasks.queues */
extern char *twt_door_directory;	/* twtasks.door_directory; empty: none */
extern int	twt_max_payload;	/* twtasks.max_payload, bytes */
extern int	twt_keep_finished;	/* twtasks.keep_finished, minutes */
extern int	twt_keep_attempts;	/* twtasks.keep_attempts, minutes; 0: none */
extern bool twt_testing;		/* twtasks.testing */
extern bool twt_refuse_unknown_types;	/* twtasks.refuse_unknown_types */
extern int	twt_function_timeout;	/* twtasks.function_timeout, ms */

/* Defines the settings; from _PG_init(). */
extern void settings_init(void);

#endif							/* TWT_SETTINGS_H */
