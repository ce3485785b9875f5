/*-------------------------------------------------------------------------
 *
 * source.h
 *		A configuration file as libyaml reads it.
 *
 * The file decides which programs run.  The sidecar reads it only if nobody
 * but root and its own user can have written it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SOURCE_H
#define TWT_SOURCE_H

#include <yaml.h>

typedef struct Source Source;

/*
 * Reads one YAML document of at most 1 MB, without aliases.  Returns NULL on
 * failure, with a palloc'd message in *error that names the file, the line and
 * the column.
 */
extern Source *source_read(const char *path, char **error) MUSTCHECK;
extern void source_free(Source *source);

/* The outermost node; NULL: the file is empty. */
extern const yaml_node_t *source_root(Source *source);

/* Returns the node to which a list or a mapping refers by this number. */
extern const yaml_node_t *source_node(Source *source, int number);

/* The text of a scalar, which may hold a NUL. */
extern const char *source_text(const yaml_node_t *node);

/* Whether the node is a scalar of this text. */
extern bool source_has_text(const yaml_node_t *node, const char *text);

/*
 * Returns a palloc'd message: file, line and column of the node, place, what.
 * Without a node it has no line.  The caller escapes text from the file,
 * except in place.
 */
extern char *source_message(const Source *source, const yaml_node_t *node,
							const char *place, const char *what);

#endif							/* TWT_SOURCE_H */
