/*-------------------------------------------------------------------------
 *
 * limit_pattern.h
 *		Which limits a type is under, by their patterns.
 *
 *		from: src/grab/limit_rules.c, sidecar/slots/limit_rules.c
 *
 *	 pattern	covers									and counts
 *	 *, P*		types that begin with P					all together
 *	 X			type X and those that begin with X|		all together
 *	 X|*		the same as X|K, for any K without |	each K for itself
 *
 * Types that a limit counts together share a name: P*, X, or X|K.  A limit for
 * one key, by the pattern X|K, has the same name as this key has under X|*,
 * and takes its place.
 *
 * If two names cover a type, one lies within the other.  So the limits of a type
 * stand in a row, from the widest to the narrowest, and the limits of all types
 * form a tree.
 *
 * Plain C without PostgreSQL's headers: both sides compile it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_PATTERN_H
#define TWT_LIMIT_PATTERN_H

#include "trigger.h"

/* bytes of a pattern, and of a name */
#define LIMIT_NAME_MAX (TRIGGER_TYPE_MAX + 1)

/* Whether the text is a type, or the beginning of one and a star. */
extern bool limit_pattern_valid(const char *pattern, size_t len);

/* Whether the pattern counts each key for itself. */
extern bool limit_pattern_is_keyed(const char *pattern);

/*
 * How narrow the pattern is for a type that it covers: a narrower name has a
 * higher number, the same name the same number.  -1: the pattern does not
 * cover the type.
 *
 * name gets the name with its NUL, in LIMIT_NAME_MAX + 1 bytes; it is
 * undefined for -1.  The pattern and the type are valid.
 */
extern int	limit_pattern_name(const char *pattern, const char *type,
							   char *name);

/* Names a limit: a letter for its scope, then its name. */
#define LIMIT_KEY_SIZE (LIMIT_NAME_MAX + 2)
#define LIMIT_KEY_SHARED 'c'	/* counts in the whole cluster */
#define LIMIT_KEY_OWN 'n'		/* counts on its node */

/* A rule that covers a type, and the limit that counts the type. */
typedef struct LimitCover
{
	const void *rule;			/* the caller's */
	int			narrowness;
	bool		is_keyed;		/* its pattern */
	char		key[LIMIT_KEY_SIZE];
} LimitCover;

/* Sets the cover, but for its rule; false: the pattern does not cover the type. */
extern bool limit_cover(LimitCover *cover, const char *pattern, bool is_shared, const char *type);

/*
 * Sorts the covers of a type: the widest first, and a limit of the cluster before
 * one of the node.  If two rules have one key, the pattern without a star counts.
 * Returns how many are left.
 */
extern int	limit_covers_sort(LimitCover *covers, int n);

#endif							/* TWT_LIMIT_PATTERN_H */
