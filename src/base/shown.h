/*-------------------------------------------------------------------------
 *
 * shown.h
 *		A caller's value in a message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SHOWN_H
#define TWT_SHOWN_H

/* Returns the beginning of a value, made safe for the log; palloc'd. */
extern const char *shown_value(const char *value);

#endif							/* TWT_SHOWN_H */
