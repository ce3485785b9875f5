/*-------------------------------------------------------------------------
 *
 * place.h
 *		Places in a configuration file, for values and for error messages.
 *
 * A place is a value of the file, or the spot where one is missing.  Its path
 * from the outside, such as "handlers[0].timeout", identifies it.  Places are
 * values on the stack; an outer place outlives its inner ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PLACE_H
#define TWT_PLACE_H

#include "options/option.h"
#include "options/source.h"

typedef struct Reader
{
	Source	   *source;
	const Section *const *kinds;
	char	  **error;			/* reading ends with the first error */
	bool		may_pass;		/* the file is not at fault: another try may
								 * succeed */
} Reader;

struct Place
{
	Reader	   *reader;
	const Place *outer;			/* NULL: the whole file */
	const char *key;			/* key in a mapping; NULL: entry of a list */
	int			index;
	const yaml_node_t *node;	/* NULL: not in the file */
	const yaml_node_t *sign;	/* its key, or its list */
};

/*
 * The place of a key's value, or of a list's entry.  A place without a node
 * has only inner places without nodes.
 */
extern Place place_of_key(const Place *outer, const char *key);
extern Place place_of_entry(const Place *outer, int index);

extern int	place_entries(const yaml_node_t *list);

/*
 * Checks that the value, which must be in the file, has this shape.  Returns
 * false after place_fail().
 */
extern bool place_take(const Place *place, yaml_node_type_t shape) MUSTCHECK;

/*
 * Reports what is wrong with the place, and returns false.  The message has
 * the position of the value or, if it is not in the file, of what surrounds
 * it.
 */
extern bool place_fail(const Place *place, const char *fmt,...) pg_attribute_printf(2, 3);

#endif							/* TWT_PLACE_H */
