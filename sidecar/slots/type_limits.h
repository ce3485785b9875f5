/*-------------------------------------------------------------------------
 *
 * type_limits.h
 *		The limits that are set in the database, in this node's tree of limits.
 *
 *		from: limit_rules.h			to: limit.h
 *
 * A rule's limit is made when the first type that it covers is used.  It is
 * freed when none of its types is in use and its rate allows the whole burst
 * again.
 *
 * A type in use has a leaf in each bucket: a limit without a maximum, below
 * the limits of the rules that cover the type, with the limits of its handler
 * and its bucket across.  When rules change, the leaf moves together with its
 * booked slots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TYPE_LIMITS_H
#define TWT_TYPE_LIMITS_H

#include "slots/limit_rules.h"

typedef struct TypeLimits TypeLimits;

/* node: the limit of the node, above all others. */
extern TypeLimits *type_limits_new(Limit *node);

/* The caller must have released all leaves. */
extern void type_limits_free(TypeLimits *limits);

/* Copies the new rules, applies them, and wakes all waiters. */
extern void type_limits_set(TypeLimits *limits, const LimitRule *rules, int n);

/*
 * The leaf of a type in a bucket, kept until the caller calls limit_release().
 * handler may be NULL, and is always the same for one type.  bucket NULL: the
 * bucket has no limit.
 */
extern Limit *type_limits_leaf(TypeLimits *limits, const char *type, Limit *handler,
							   Limit *bucket);

/* The shared limit with that name; NULL: not in use here. */
extern Limit *type_limits_find_shared(const TypeLimits *limits, const char *name);

/* The number of rules' limits that exist now; for tests. */
extern int	type_limits_count(const TypeLimits *limits);

#endif							/* TWT_TYPE_LIMITS_H */
