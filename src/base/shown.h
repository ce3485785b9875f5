/*-------------------------------------------------------------------------
 *
 * shown.h
 *		A caller's value in a message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SHOWN_H
#define TWT_SHOWN_H

/* The beginning of a value, which cannot forge a line of the log; palloc'd. */
extern const char *shown_value(const char *value);

#endif							/* TWT_SHOWN_H */
