/*-------------------------------------------------------------------------
 *
 * ctl_arguments.h
 *		The command line of twtasksctl, read by the table of verbs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_ARGUMENTS_H
#define TWT_CTL_ARGUMENTS_H

struct Verb;

typedef struct CtlArguments CtlArguments;

/*
 * Options may stand before and behind the verb, and among its operands.  Returns
 * what is wrong (palloc'd), else NULL.  Nothing is required with --help or
 * --version.
 */
extern char *arguments_read(int argc, char **argv, CtlArguments **arguments) MUSTCHECK;

extern void arguments_free(CtlArguments *arguments);

/* NULL: none was given. */
extern const struct Verb *arguments_verb(const CtlArguments *arguments);

/*
 * The value of an option ("type"), or of an operand ("TYPE"); "" for a flag that
 * was given, and NULL if it was not.
 */
extern const char *arguments_get(const CtlArguments *arguments, const char *name);

#endif							/* TWT_CTL_ARGUMENTS_H */
