/*-------------------------------------------------------------------------
 *
 * policy_rules.h
 *		The rules of the database, and the policy that they make for a type.
 *
 *		from: policies.h		to: base/policy.h
 *
 * The database sends one rule for each pattern.  A rule already merges all
 * patterns that are less special, so the most special pattern that matches a
 * type decides.  The handler of the configuration file fills in options that
 * the rule leaves open.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_RULES_H
#define TWT_POLICY_RULES_H

#include "base/policy.h"
#include "config/config.h"

/* What the database says for what a pattern fits. */
typedef struct PolicyRule
{
	const char *pattern;
	int64		timeout_us;		/* -1: not set */
	int			stuck;			/* a StuckRule; -1: not set */
	bool		asks_stuck;		/* there is a function to ask */
	int			max_tries;		/* 0: a function says; -1: not set */
	bool		runs_here;
	int64		aging_us;		/* 0: tasks do not rise */
} PolicyRule;

typedef struct PolicyRules PolicyRules;

/* A rule that sets nothing. */
extern PolicyRule policy_rule(const char *pattern);

extern PolicyRules *policy_rules_new(void);
extern void policy_rules_free(PolicyRules *rules);

/* Copies the pattern. */
extern void policy_rules_add(PolicyRules *rules, const PolicyRule *rule);

/* The shortest aging of all rules; 0: none has any. */
extern int64 policy_rules_aging_us(const PolicyRules *rules);

/* No tasks are to be taken of types that fit; the pattern is copied. */
extern void policy_rules_pause(PolicyRules *rules, const char *pattern);

/*
 * The policy for a type, with one reference; handler is what the
 * configuration file has for it.
 */
extern Policy *policy_make(const PolicyRules *rules,
						   const HandlerConfig *handler, const char *type);

#endif							/* TWT_POLICY_RULES_H */
