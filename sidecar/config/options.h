/*-------------------------------------------------------------------------
 *
 * options.h
 *		The options of the configuration file, as one table.
 *
 * Everything that knows options walks this table: the schema the file is
 * read with, defaults, checks, conversion, printing, the reference.  A new
 * option is one row and the member of a struct that it fills.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPTIONS_H
#define TWT_OPTIONS_H

#include "config/config.h"

/* No section has more options. */
#define SECTION_OPTIONS_MAX 40

typedef enum OptionKind
{
	OPTION_TEXT,				/* char *; NULL when absent */
	OPTION_CONNINFO,			/* char *; may hold a password */
	OPTION_WORDS,				/* char ** and an int at count_offset */
	OPTION_ARGV,				/* char **, NULL-terminated */
	OPTION_INTEGER,				/* int */
	OPTION_NUMBER,				/* double */
	OPTION_DURATION,			/* int64, microseconds */
	OPTION_SIZE,				/* int64, bytes */
	OPTION_CHOICE,				/* an enum */
	OPTION_SWITCH,				/* "true" or absent; fills nothing */
	OPTION_SETTINGS,			/* any mapping; char *, JSON text; NULL when
								 * absent */
	OPTION_SECTION,				/* a mapping; offset is where it begins */
	OPTION_SECTIONS				/* a list of mappings: pointer and count */
} OptionKind;

typedef struct Choice
{
	const char *name;			/* NULL ends the list */
	int			value;
} Choice;

typedef struct Section Section;

typedef struct Option
{
	const char *name;
	OptionKind	kind;
	const char *fallback;		/* the default, as the file would say it */
	const char *fallback_note;	/* in words, when it is computed */
	int64		min;			/* of the value, the bytes of a text, or the */
	int64		max;			/* entries of a list */
	size_t		offset;			/* in the struct of its section */
	size_t		count_offset;
	const Choice *choices;
	const Section *section;
	/* What is wrong with a text, or with a word of a list; NULL: nothing. */
	const char *(*check) (const char *text);
	int			modes;			/* OPTION_MODE bits; 0: every handler has it */
	bool		is_required;
	bool		needs_restart;	/* a reload does not change it */
	const char *help;
} Option;

#define OPTION_MODE(mode) (1 << (mode))

struct Section
{
	const Option *options;
	int			noptions;
	size_t		size;			/* of the struct it fills */
};

/* What is logged, and how; it fills a LogConfig. */
extern const Section log_section;

/* The top level of the file; it fills a Config. */
extern const Section *options_root(void);

/* What a handler has; its offsets are those of HandlerConfig. */
extern const Section *options_handler(void);

/* The choice with that value; it exists. */
extern const char *options_choice_name(const Choice *choices, int value);

#endif							/* TWT_OPTIONS_H */
