/*-------------------------------------------------------------------------
 *
 * config_schema.h
 *		The configuration file in the shape of the option table, not yet
 *		judged: every single value is still a text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_SCHEMA_H
#define TWT_CONFIG_SCHEMA_H

#include "config/config_source.h"
#include "config/options.h"

typedef struct RawSection RawSection;

/* One option as the file has it; text NULL: it has not. */
typedef struct RawValue
{
	union
	{
		char	   *text;
		char	  **words;
		RawSection *sections;	/* one, or an array */
	};
	uint32		count;			/* of words or sections */
} RawValue;

/* values[i] belongs to options[i] of the section. */
struct RawSection
{
	RawValue	values[SECTION_OPTIONS_MAX];
};

/*
 * Maps the source onto root, the top-level section.  False, with a palloc'd message
 * in *error, when it has keys that no option is named by, keys twice, or
 * values of the wrong shape.  *raw is NULL for an empty file.
 */
extern bool config_schema_load(const ConfigSource *source, const Section *root,
							   RawSection **raw, char **error) MUSTCHECK;
extern void config_schema_free(const Section *root, RawSection *raw);

#endif							/* TWT_CONFIG_SCHEMA_H */
