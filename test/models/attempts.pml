/*
 * One identifier of a kind that searches before it acts (pessimistic), or of one
 * that nobody can search (BLACK_BOX): see extensions/kinds/kind_rules.sql.
 *
 * Each step is a task of its own, whose number is its version.  A handler may end
 * without an answer before or after the third party has acted, or answer when its
 * step has been given up.  The end of a step decides on the next step in the
 * same transaction.  A step is given up when its handler is surely over.
 *
 *	BLACK_BOX	there is no search: an unknown end is uncertain, and nobody acts again
 *	EARLY		a step is given up while its handler runs, on a machine that stands still
 *	NO_FIND		mutant: an action follows an unknown end without a search
 *	RETRY_UNKNOWN	mutant: an action follows an unknown end in a black box
 *	BLIND_END	mutant: the last unknown end gives up without a search
 *	EARLY_END	mutant: an expiry decides before the search
 *	NO_VERSION	mutant: any answer ends the step under way
 *	TWO_ROWS	mutant: each start has a row of its own
 *	DROP_LATE	mutant: an answer that is too late is not kept
 */
#define STEPS 6
#define ACTS 2					/* attempts that are allowed */

/* Steps, and their answers. */
#define FIND 1
#define ACT 2
#define PAID 1
#define NOT_FOUND 2
#define FAULT 3
#define UNKNOWN 4

/* Outcomes. */
#ifdef BLACK_BOX
#define FIRST ACT
#else
#define FIRST FIND
#endif

#define NONE 0
#define BY_ANSWER 1
#define GIVEN_UP 2
#define UNCERTAIN 3

byte steps, spent, starts;
bool live[STEPS + 1], over[STEPS + 1];
byte does[STEPS + 1];
byte outcome, outcomes;
bool unknown_end;				/* nobody knows how an action in a black box ended */
byte kept, late;				/* answers that came too late */

byte actions;					/* completed, at the third party */

/* Whatever is decided must be true of the third party. */
inline decide(how)
{
	outcome = how;
	outcomes++;
	assert(outcomes == 1);
	assert(how != GIVEN_UP || actions == 0);
	assert(how != BY_ANSWER || actions == 1)
}

inline step(what)
{
	if
	:: steps < STEPS -> steps++; live[steps] = true; does[steps] = what; run handler(steps, what)
	:: else							/* the model ends here */
	fi
}

inline act_again()
{
	assert(!unknown_end);
	if
	:: spent < ACTS -> step(ACT)
	:: else -> decide(GIVEN_UP)
	:: decide(GIVEN_UP)			/* it has expired, or is not needed any more */
	fi
}

inline ended(what, said)
{
	if
	:: said == PAID -> decide(BY_ANSWER)
	:: what == FIND && said == NOT_FOUND -> act_again()
	:: what == FIND && said == UNKNOWN -> step(FIND)
#ifdef BLACK_BOX
	:: what == ACT && said == FAULT -> spent++; act_again()
#ifdef RETRY_UNKNOWN
	:: what == ACT && said == UNKNOWN -> unknown_end = true; spent++; act_again()
#else
	:: what == ACT && said == UNKNOWN -> unknown_end = true; decide(UNCERTAIN)
#endif
#else
	:: what == ACT && said != PAID ->
		spent++;
		if
#ifdef NO_FIND
		:: spent < ACTS -> step(ACT)
#endif
#ifdef BLIND_END
		:: spent == ACTS -> decide(GIVEN_UP)
#endif
#ifdef EARLY_END
		:: decide(GIVEN_UP)
#endif
		:: step(FIND)
		fi
#endif
	fi
}

/* The answer of a handler, or the end of its deadline. */
inline answer(me, what, said)
{
	if
#ifdef NO_VERSION
	:: outcome == NONE || said == PAID -> live[me] = false; ended(what, said)
#else
	:: live[me] -> live[me] = false; ended(what, said)
#endif
	:: else ->
		late++;
#ifndef DROP_LATE
		kept++;
#endif
		assert(kept == late)
	fi
}

proctype handler(byte me, what)
{
	if
	:: atomic { what == FIND && actions > 0 -> answer(me, what, PAID) }
	:: atomic { what == FIND && actions == 0 -> answer(me, what, NOT_FOUND) }
	:: atomic { what == ACT -> answer(me, what, FAULT) }
	:: what == ACT ->
		atomic { actions++; assert(actions == 1) };
		if
		:: atomic { answer(me, what, PAID) }
		:: skip
		fi
	:: skip
	fi;
	atomic {
		over[me] = true;
		if
		:: live[me] -> answer(me, what, UNKNOWN)
		:: else
		fi
	}
}

#ifdef EARLY
/* Believes a node gone whose handler runs. */
active proctype impatient()
{
end:
	do
	:: atomic { steps > 0 && live[steps] && !over[steps] && outcome == NONE ->
			live[steps] = false;
			ended(does[steps], UNKNOWN)
		}
	od
}
#endif

active [2] proctype producer()
{
	atomic {
		starts++;
		if
#ifndef TWO_ROWS
		:: starts > 1
		:: else -> step(FIRST)
#else
		:: step(FIRST)
#endif
		fi
	}
}
