/*-------------------------------------------------------------------------
 *
 * options.h
 *		Configuration files, read into structs by tables of options.
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
 * log_options.h has the section of the log, for any program.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OPTIONS_H
#define TWT_OPTIONS_H

#include "options/option.h"

/*
 * Reads the file into a struct that options_free() frees.  kinds ends in NULL
 * and lists the kinds for the section that has a row OPTION_KIND; NULL if no
 * section has one.  Returns NULL on failure, with a palloc'd message in *error
 * that names file, line, column and option; errno is EAGAIN then if the file is
 * not at fault and another try may succeed.  On success *error is NULL, or a
 * message about the first value that has no effect.
 */
extern void *options_read(const Section *section, const Section *const *kinds,
						  const char *path, char **error) MUSTCHECK;
extern void options_free(const Section *section, void *target);

/*
 * Appends the options in force as YAML that options_read() accepts, with
 * asterisks for the passwords in connection strings.
 */
extern void options_print(const Section *section, const void *source,
						  StringInfo out);

/*
 * Returns the first option that differs and that a reload cannot change; NULL
 * if a reload can apply all differences.
 */
extern const char *options_needs_restart(const Section *section,
										 const void *from, const void *to);

/* Returns the kind of an entry of this section; NULL if it has none. */
extern const Section *options_kind(const Section *section, const void *source);

#endif							/* TWT_OPTIONS_H */
