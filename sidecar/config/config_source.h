/*-------------------------------------------------------------------------
 *
 * config_source.h
 *		The configuration file as text, and where in it each key stands.
 *
 * The file decides which programs run, so it is read only when nobody but
 * root and the daemon's own user can have written it.
 *
 * A place in the file is named by its path, such as "handlers[0].timeout".
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_SOURCE_H
#define TWT_CONFIG_SOURCE_H

typedef struct ConfigSource ConfigSource;

/*
 * Reads the file and checks that it is one YAML document of reasonable size
 * and depth, without aliases and empty values.  NULL on failure, with a
 * palloc'd message in *error.
 */
extern ConfigSource *config_source_read(const char *path,
										char **error) MUSTCHECK;
extern void config_source_free(ConfigSource *source);

extern const char *config_source_text(const ConfigSource *source, size_t *len);

/*
 * A palloc'd message about the place: file, line, place, what.  A place that
 * is not in the file has the line of the nearest one around it.  What comes
 * from the file must be escaped already, except in place.
 */
extern char *config_source_message(const ConfigSource *source,
								   const char *place, const char *fmt,...)
			pg_attribute_printf(3, 4);

#endif							/* TWT_CONFIG_SOURCE_H */
