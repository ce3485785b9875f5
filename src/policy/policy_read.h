/*-------------------------------------------------------------------------
 *
 * policy_read.h
 *		Rows of twtasks.type_policy, read.
 *
 *		from: sql/policy/policies.sql		to: policy.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_READ_H
#define TWT_POLICY_READ_H

#include "base/table_cache.h"
#include "policy/type_policy.h"

/* Options that are not set are as in policy_unset. */
typedef struct PolicyRule
{
	char	   *pattern;
	TypePolicy	options;
} PolicyRule;

extern const TypePolicy policy_unset;
extern const Shape policy_shape;

/* One rule per row, the least special first, in the current memory context. */
extern PolicyRule *policy_read_rules(const CachedRows *rows);

#endif							/* TWT_POLICY_READ_H */
