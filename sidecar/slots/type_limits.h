/*-------------------------------------------------------------------------
 *
 * type_limits.h
 *		The limits of the database, and which of them a type is under.
 *
 *		from: SQL			to: slots.h
 *
 * A rule is a pattern with what it limits; common/limit_pattern.h says what a
 * pattern covers.  TypeLimits of rules are made when a type comes that is under
 * them, and freed when nothing is left to know: no type of theirs is in use,
 * and all starts that the rate allows at once are to be had again.
 *
 * A type that is in use has a leaf in each bucket: a limit without a number,
 * below the rules it is under, with its handler's limit and its bucket's
 * across.  The leaf stays the same when rules change, and what is booked with
 * it moves along.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TYPE_LIMITS_H
#define TWT_TYPE_LIMITS_H

#include "slots/slots.h"

typedef struct TypeLimits TypeLimits;

typedef struct LimitRule
{
	const char *pattern;
	bool		is_shared;		/* counts in the whole cluster */
	LimitTerms	terms;
} LimitRule;

/* node: above all. */
extern TypeLimits *type_limits_new(Limit *node);

/* Nobody keeps a leaf. */
extern void type_limits_free(TypeLimits *limits);

/* These rules from now on, which are copied; all who wait are woken. */
extern void type_limits_set(TypeLimits *limits, const LimitRule *rules, int n);

/*
 * The leaf of a type in a bucket, kept for the caller, who calls
 * limit_release().  handler, which may be NULL, is the same whenever the same
 * type is named.  bucket NULL: there is no limit of it.
 */
extern Limit *type_limits_leaf(TypeLimits *limits, const char *type, Limit *handler,
							   Limit *bucket);

/* The shared limit of that name, NULL: not in use here. */
extern Limit *type_limits_find_shared(const TypeLimits *limits, const char *name);

/* Whether a rule is shared. */
extern bool type_limits_any_shared(const TypeLimits *limits);

/* TypeLimits of rules that are known now, for tests. */
extern int	type_limits_count(const TypeLimits *limits);

#endif							/* TWT_TYPE_LIMITS_H */
