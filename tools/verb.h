/*-------------------------------------------------------------------------
 *
 * verb.h
 *		The verbs of twtasksctl, as a table.
 *
 *		from: main.c, ctl_arguments.c, ctl_help.c, completion.c
 *
 * Help, manual page and completion are made of this table, and the arguments are
 * read by it.  Most verbs are one statement and the names of its parameters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_VERB_H
#define TWT_VERB_H

struct Ctl;

/* Most parameters of a verb's own statement. */
#define VERB_PARAMS 20

typedef struct VerbOption
{
	const char *name;			/* NULL ends a list */
	char		letter;			/* 0: none */
	const char *argument;		/* NULL: a flag */
	const char *help;
} VerbOption;

/* The group of verbs that change nothing. */
#define VERB_LOOK "Look"

typedef struct Verb
{
	const char *name;			/* NULL ends the table */
	const char *group;			/* its heading in the help */
	const char *operands;		/* such as "TYPE [DATA]" */
	const char *summary;		/* without a full stop */
	const VerbOption *options;	/* its own */
	const char *role;			/* that may use it; NULL: it needs no database */
	const char *needed;			/* the option that must be given; NULL: none */

	/* Returns the exit status; NULL: show the rows of the statement. */
	int			(*run) (struct Ctl *ctl);
	const char *sql;
	const char *params[VERB_PARAMS];	/* options and operands, up to NULL */
	const char *none;			/* refusal if there is no row; NULL: none is
								 * fine */
	bool		is_record;		/* shows its one row as a list of columns */
} Verb;

extern const Verb verbs[];

/* NULL: there is no such verb. */
extern const Verb *verb_find(const char *name);

/* The options that every verb has. */
extern const VerbOption common_options[];

/*
 * Finds the Nth word of the operands, from 0, without its brackets.  Returns
 * false if there are fewer.
 */
extern bool verb_operand(const Verb *verb, int n, char name[32], bool *is_optional) MUSTCHECK;

#endif							/* TWT_VERB_H */
