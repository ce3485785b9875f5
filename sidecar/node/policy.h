/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What is to be done with the tasks of one type.
 *
 *		from: policies.h		to: grab.h, execute.h, outcome.h
 *
 * Rules come from the database, each for a pattern; for what they leave open
 * there is the handler of the configuration file.  Of several rules that fit
 * a type each option is that of the most special one that sets it.
 *
 * A Policy is what all this comes to for a type.  It never changes: a task
 * keeps the one that it was grabbed with for as long as it runs.  Policies
 * are counted: whoever keeps one takes a reference.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_H
#define TWT_POLICY_H

#include "config/config.h"
#include "finish/retry.h"

typedef struct Policy
{
	int			refs;
	int64		timeout_us;		/* deadline after the grab */
	StuckRule	stuck;			/* told to the database with the grab */
	RetryPlan  *retry;
	bool		asks_retry;		/* the database, whose function decides */
	bool		resets_tries;	/* when a repeated task has succeeded */
	bool		is_taken;		/* not paused, and for this node to run */
	int64		aging_us;		/* after so long in the queue a task rises; 0:
								 * never */
} Policy;

/* What the database says for a pattern. */
typedef struct PolicyRule
{
	const char *pattern;
	int64		timeout_us;		/* -1: not set */
	int			stuck;			/* a StuckRule; -1: not set */
	RetryPlan  *retry;			/* NULL: not set */
	int			asks_stuck;		/* 1, 0; -1: not set */
	int			asks_retry;		/* likewise */
	int			resets_tries;	/* likewise */
	char	  **nodes;			/* patterns, NULL-terminated; NULL: not set */
	int64		aging_us;		/* 0: tasks do not rise; -1: not set */
} PolicyRule;

typedef struct PolicyRules PolicyRules;

/* A rule that sets nothing. */
extern PolicyRule policy_rule(const char *pattern);

/* For a node of that name, which stays the caller's. */
extern PolicyRules *policy_rules_new(const char *node);
extern void policy_rules_free(PolicyRules *rules);

/* Copies the pattern, takes what else the rule points at. */
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

/* Tries in all; 0: a function decides. */
extern int	policy_max_tries(const Policy *policy);

extern Policy *policy_ref(Policy *policy);

/* Frees it with its last reference; NULL is none. */
extern void policy_unref(Policy *policy);

#endif							/* TWT_POLICY_H */
