/*-------------------------------------------------------------------------
 *
 * option.h
 *		The rows of a table of options: options.h says how tables are used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPTION_H
#define TWT_OPTION_H

typedef enum OptionType
{
	OPTION_TEXT,				/* char *; NULL when absent */
	OPTION_CONNINFO,			/* char *; may hold a password */
	OPTION_WORDS,				/* char **, NULL-terminated, each word once */
	OPTION_ARGV,				/* char **, NULL-terminated */
	OPTION_INTEGER,				/* int */
	OPTION_NUMBER,				/* double */
	OPTION_DURATION,			/* int64, microseconds */
	OPTION_SIZE,				/* int64, bytes */
	OPTION_CHOICE,				/* an enum */
	OPTION_SWITCH,				/* "true" or absent; fills nothing */
	OPTION_SETTINGS,			/* any mapping; char *, JSON; NULL when absent */
	OPTION_SECTION,				/* a struct: a mapping */
	OPTION_SECTIONS,			/* an array of pointers to structs: a list */
	OPTION_KIND					/* const Section *: see Section */
} OptionType;

typedef struct Choice
{
	const char *name;			/* NULL ends the list */
	int			value;
} Choice;

typedef struct Section Section;

typedef struct Option
{
	const char *name;
	OptionType	type;
	size_t		offset;			/* its member's, in the section's struct */
	size_t		count_offset;	/* a list: its length, an int; 0: none */
	const char *fallback;		/* the default, as the file would say it */
	int64		min;			/* bounds of the value, of a text's bytes, */
	int64		max;			/* or of the number of entries of a list */
	const Choice *choices;
	const Section *section;
	/* Returns the fault of a text, or of a word of a list; NULL: none. */
	const char *(*check) (const char *text);
	bool		is_required;
	bool		needs_restart;	/* a reload cannot change it */
	const char *help;			/* one line; ends in "; default: ..." where
								 * the default is computed */
} Option;

/* A section while it is read. */
typedef struct Place Place;

/*
 * The entries of a list may be of several kinds.  A kind is a section whose
 * first option has the kind's name, and an entry is of the kind whose name is
 * among its keys.  It has the options of the list's section and of its
 * kind, whose struct begins with the section's struct.  The section's row of
 * type OPTION_KIND stores the kind and says where its options are printed.
 */
struct Section
{
	const Option *options;
	int			noptions;
	size_t		size;			/* the size of the struct that it fills */

	/*
	 * Completes and checks a struct whose options have been read; false after
	 * options_fail().  NULL: there is nothing to do.
	 */
	bool		(*settle) (void *target, const Place *place);
	/* Frees members that are not options and that settle made; NULL: none. */
	void		(*release) (void *target);
};

/* Tells settle whether the file has the option. */
extern bool options_given(const Place *place, const char *name);

/*
 * Lets settle report the fault of an option of the section, or of a part of
 * one, such as "hosts[2]"; "" stands for the section itself.  Returns false.
 */
extern bool options_fail(const Place *place, const char *option,
						 const char *fmt,...) pg_attribute_printf(3, 4);

/* The same for a fault that is not the file's and may pass, as options_read() says. */
extern bool options_fail_for_now(const Place *place, const char *option, const char *what);

/* Lets settle warn of an option without effect; only the first warning counts. */
extern void options_note(const Place *place, const char *option, const char *what);

/* Returns the name of the choice with this value, which must exist. */
extern const char *options_choice_name(const Choice *choices, int value);

/* Checks a path for an option; returns what is wrong with it, or NULL. */
extern const char *options_check_path(const char *path);

/* Returns the value of the choice with this name, or of the fallback. */
extern int	options_choice_value(const Option *option, const char *name);

#endif							/* TWT_OPTION_H */
