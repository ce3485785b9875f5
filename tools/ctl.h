/*-------------------------------------------------------------------------
 *
 * ctl.h
 *		A run of twtasksctl: its arguments, its session, how it answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_H
#define TWT_CTL_H

#include "tools/ctl_arguments.h"
#include "tools/ctl_end.h"
#include "tools/ctl_session.h"

typedef struct Ctl
{
	const CtlArguments *arguments;
	Session    *session;		/* NULL: the verb needs none */
	bool		is_json;
	bool		has_color;
} Ctl;

/* The value of an option or operand; NULL: not given. */
extern const char *ctl_get(const Ctl *ctl, const char *name);

/* Ends the program unless an operand ID or the option --key is given. */
extern void ctl_need_task(const Ctl *ctl);

/* Runs a statement with parameters of these names, up to NULL. */
extern PGresult *ctl_ask(const Ctl *ctl, const char *sql, const char *const *names);

#endif							/* TWT_CTL_H */
