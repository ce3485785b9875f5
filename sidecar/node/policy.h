/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What is to be done with the tasks of one type.
 *
 *		from: policies.h		to: grab.h, execute.h, finish.h
 *
 * Rules come from the database, one for each pattern: all that the patterns
 * come to which fit what this one fits.  So for a type the rule of the most
 * special pattern counts.  The handler of the configuration file says what is
 * left open.
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

typedef struct Policy
{
	int			refs;
	int64		timeout_us;		/* deadline after the grab */
	StuckRule	stuck;			/* told to the database with the grab */
	int			max_tries;		/* in all; 0: a function says */
	char	   *retry;			/* the handler's, for the database to judge by
								 * where it has none: JSON */
	bool		is_taken;		/* not paused, and for this node to run */
	int64		aging_us;		/* after so long in the queue a task rises; 0:
								 * never */
} Policy;

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

extern Policy *policy_ref(Policy *policy);

/* Frees it with its last reference; NULL is none. */
extern void policy_unref(Policy *policy);

#endif							/* TWT_POLICY_H */
