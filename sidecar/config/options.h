/*-------------------------------------------------------------------------
 *
 * options.h
 *		Configuration files: a table of options, a struct, a file.
 *
 * A program that wants a configuration file writes a struct, a table with one
 * row per option, and a Section that says which struct the table fills:
 *
 *		typedef struct Settings {char *listen; int64 timeout_us;} Settings;
 *
 *		static const Option options[] = {
 *			{"listen", OPTION_TEXT, offsetof(Settings, listen),
 *				.is_required = true, .min = 1, .max = 100,
 *				.help = "address and port"},
 *			{"timeout", OPTION_DURATION, offsetof(Settings, timeout_us),
 *				.fallback = "10s", .min = 0, .max = SECONDS_TO_US(60),
 *				.help = "time for an answer"},
 *		};
 *		static const Section section = {
 *			.options = options, .noptions = lengthof(options),
 *			.size = sizeof(Settings)
 *		};
 *
 *		settings = options_read(&section, NULL, path, &error);
 *		options_print(&section, settings, &out);
 *		options_free(&section, settings);
 *
 * Parsing, defaults, checks, printing and the comparison of a reload come from
 * the table.  An option that is not in the file has its default, which passes
 * the same checks.  Checks that concern several options are the section's
 * settle function.
 *
 * It needs options.c, options_print.c, place.c, source.c, values.c, conninfo.c,
 * base/text.c and base/units.c, and links with libyaml and libpq.  The section
 * of the log, for any program, is in log_options.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPTIONS_H
#define TWT_OPTIONS_H

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
	size_t		offset;			/* of its member in the section's struct */
	size_t		count_offset;	/* lists: of an int, the number of entries; 0:
								 * none */
	const char *fallback;		/* the default, as the file would say it */
	int64		min;			/* of the value, the bytes of a text, or the */
	int64		max;			/* entries of a list */
	const Choice *choices;
	const Section *section;
	/* What is wrong with a text, or with a word of a list; NULL: nothing. */
	const char *(*check) (const char *text);
	bool		is_required;
	bool		needs_restart;	/* a reload does not change it */
	const char *help;			/* one line */
} Option;

/* A section while it is read. */
typedef struct Place Place;

/*
 * The entries of a list may be of several kinds.  A kind is a section whose
 * first option has the kind's name, and an entry is of the kind whose name is
 * among its keys.  It has the options of the list's section and those of its
 * kind, whose struct begins with the section's struct.  The section's row of
 * type OPTION_KIND stores the kind and says where its options are printed.
 */
struct Section
{
	const Option *options;
	int			noptions;
	size_t		size;			/* of the struct it fills */

	/*
	 * Completes and checks a struct whose options have been read; false after
	 * options_fail().  NULL: there is nothing to do.
	 */
	bool		(*settle) (void *target, const Place *place);
	/* Frees members that are no options, and settle made; NULL: none. */
	void		(*release) (void *target);
};

/*
 * Reads the file into a struct that options_free() frees.  kinds, which ends
 * in NULL, are those of the section that has a row OPTION_KIND; NULL: none
 * has.  NULL on failure, with a palloc'd message in *error that names file,
 * line, column and option.
 */
extern void *options_read(const Section *section, const Section *const *kinds,
						  const char *path, char **error) MUSTCHECK;
extern void options_free(const Section *section, void *target);

/* For settle: whether the file has the option. */
extern bool options_given(const Place *place, const char *name);

/*
 * For settle: what is wrong with an option of the section, or with a part of
 * it such as "hosts[2]"; "" is the section itself.  Returns false.
 */
extern bool options_fail(const Place *place, const char *option,
						 const char *fmt,...) pg_attribute_printf(3, 4);

/*
 * Appends the options in force as YAML that options_read() accepts, with
 * asterisks for the passwords in connection strings.
 */
extern void options_print(const Section *section, const void *source,
						  StringInfo out);

/*
 * The first option that differs and that a reload cannot change; NULL: a
 * program can go over from one to the other.
 */
extern const char *options_needs_restart(const Section *section,
										 const void *from, const void *to);

/* The kind of an entry of this section; NULL: it has none. */
extern const Section *options_kind(const Section *section, const void *source);

/* The choice with that value; it exists. */
extern const char *options_choice_name(const Choice *choices, int value);

#endif							/* TWT_OPTIONS_H */
