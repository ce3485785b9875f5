/*
 * One identifier of an optimistic kind: a first step, a look at all first steps, a
 * second step, and an undo; see extensions/kinds/kind_rules.sql.  A rival who
 * does not share our database works by the same rules: both may act only under
 * the oldest first step that has not expired.
 *
 * A handler may end without an answer before or after its effect.  A first step
 * expires when the attempt that made it is over for certain.
 *
 *	NO_LOOK		mutant: the second step follows the first one at once
 *	NO_RETURN	mutant: an abort leaves no later look
 *	NO_UNDO		mutant: our first step stays whatever follows
 *	FORGETFUL	mutant: after an unknown second step a new first step follows
 *	SHORT		mutant: a first step expires while its attempt runs
 */
#define TRIES 3

#define OURS 1
#define RIVALS 2

/* The third party: two first steps, and which of them was completed. */
bool first[3], expired[3];
byte oldest;					/* of the first steps that are there */
byte completed, seconds;

bool at_work[3];				/* a second step may still come */
byte outcome;					/* 0: none; else whose second step it tells of; 3: given up */
byte tries;

#define OTHER(me) (3 - me)
#define LIVES(me) (first[me] && !expired[me])
#define BLOCKED(me) (LIVES(OTHER(me)) && oldest == OTHER(me))

inline make_first(me)
{
	first[me] = true;
	expired[me] = false;
	oldest = (LIVES(OTHER(me)) -> OTHER(me) : me)
}

/* A first step that was completed stays. */
inline undo(me)
{
	if
	:: first[me] && completed != me -> first[me] = false; oldest = (first[OTHER(me)] -> OTHER(me) : oldest)
	:: else
	fi
}

inline leave()
{
#ifdef NO_UNDO
	skip
#else
	undo(OURS)
#endif
}

inline complete(me)
{
	completed = me;
	seconds++;
	assert(seconds == 1)
}

/* Follows the rules, or dies. */
active proctype rival()
{
	if
	:: atomic { make_first(RIVALS); at_work[RIVALS] = true }
	:: goto out
	fi;
	if
	:: atomic { !completed && LIVES(RIVALS) && !BLOCKED(RIVALS) -> skip };
		if
		:: atomic { complete(RIVALS) }
		:: skip
		fi
	:: atomic { completed || BLOCKED(RIVALS) -> undo(RIVALS) }
	:: skip
	fi;
out:	at_work[RIVALS] = false
}

#ifdef SHORT
#define MAY_EXPIRE(me) (LIVES(me) && completed != me)
#else
#define MAY_EXPIRE(me) (LIVES(me) && completed != me && !at_work[me])
#endif

active proctype time()
{
end:
	do
	:: atomic { MAY_EXPIRE(OURS) -> expired[OURS] = true }
	:: atomic { MAY_EXPIRE(RIVALS) -> expired[RIVALS] = true }
	od
}

active proctype ours()
{
first_step:
	if
	:: tries == TRIES -> goto give_up
	:: else
	fi;
	atomic { tries++; make_first(OURS); at_work[OURS] = true };
#ifdef NO_LOOK
	goto second_step;
#endif
	if
	:: skip
	:: goto new_attempt			/* nobody knows whether it is there */
	fi;

look:
	at_work[OURS] = true;
	if
	:: atomic { completed == OURS -> at_work[OURS] = false; outcome = OURS; goto out }
	:: atomic { completed == RIVALS && at_work[RIVALS] -> goto abort }
	:: atomic { completed == RIVALS && !at_work[RIVALS] -> leave(); outcome = RIVALS; goto out }
	:: atomic { !completed && LIVES(OURS) && !BLOCKED(OURS) -> goto second_step }
	:: atomic { !completed && BLOCKED(OURS) -> goto abort }
	:: atomic { !completed && !LIVES(OURS) && !BLOCKED(OURS) -> goto first_step }
	fi;

second_step:
	if
	:: atomic { complete(OURS) };
		if
		:: atomic { at_work[OURS] = false; outcome = OURS; goto out }
		:: goto new_attempt
		fi
	:: goto new_attempt
	fi;

new_attempt:
	at_work[OURS] = false;
	if
	:: tries < TRIES -> tries++
	:: else
	fi;
#ifdef FORGETFUL
	goto first_step;
#else
	goto look;
#endif

abort:
	atomic {
		at_work[OURS] = false;
		leave()
	};
#ifdef NO_RETURN
	goto stuck;
#endif
	/* the blocking step expires, or its owner is over */
	(!LIVES(RIVALS) || completed && !at_work[RIVALS]);
	goto look;

give_up:
	atomic {
		/* nothing of ours is left to be completed: the last look said so */
		leave();
		assert(completed != OURS);
		outcome = 3
	};

out:	assert(outcome != OURS || completed == OURS);
	assert(outcome != RIVALS || completed == RIVALS);
	assert(!first[OURS] || completed == OURS);
	goto end_well;

stuck:	false;
end_well:
	skip
}
