/*-------------------------------------------------------------------------
 *
 * ctl_help.h
 *		The help and the manual page, made of the table of verbs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_HELP_H
#define TWT_CTL_HELP_H

struct Verb;

/* verb NULL: all of them. */
extern void help_print(const struct Verb *verb);

/* The manual page, for scdoc. */
extern void help_manual(void);

#endif							/* TWT_CTL_HELP_H */
