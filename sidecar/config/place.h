/*-------------------------------------------------------------------------
 *
 * place.h
 *		Places in a configuration file, and what is wrong with them.
 *
 * A place is a value of the file, or where one is missing.  It is known by the
 * way to it from the outside, such as "handlers[0].timeout".  Places are values
 * on the stack; an outer one outlives its inner ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PLACE_H
#define TWT_PLACE_H

#include "config/option.h"
#include "config/source.h"

typedef struct Reader
{
	Source	   *source;
	const Section *const *kinds;
	char	  **error;			/* the first is the last: reading ends then */
} Reader;

struct Place
{
	Reader	   *reader;
	const Place *outer;			/* NULL: the whole file */
	const char *key;			/* in a mapping; NULL: in a list */
	int			index;
	const yaml_node_t *node;	/* NULL: not in the file */
	const yaml_node_t *sign;	/* its key, or its list */
};

/* The value of a key, and an entry of a list; of nothing: nothing. */
extern Place place_of_key(const Place *outer, const char *key);
extern Place place_of_entry(const Place *outer, int index);

extern int	place_entries(const yaml_node_t *list);

/*
 * Takes the value, which is in the file and must be of this shape.  False after
 * place_fail().
 */
extern bool place_take(const Place *place, yaml_node_type_t shape) MUSTCHECK;

/*
 * Tells what is wrong with the place.  Its position is that of the value or, not
 * in the file, of what is around it.  Returns false.
 */
extern bool place_fail(const Place *place, const char *fmt,...) pg_attribute_printf(2, 3);

#endif							/* TWT_PLACE_H */
