/*
 * One task per identifier whose action at a third party must happen at most
 * once.  Each grab is an attempt with a number and a deadline.  An attempt
 * first asks the third party for the result of an earlier one, then acts.
 *
 * A node can lose its connection while its handler runs on.  The node's own
 * sidecar kills the handler at the deadline, unless the machine stands still.
 *
 *	(none)	the task is taken over as soon as the node is believed gone
 *	LATE	the task is taken over when its deadline has passed
 *	PAUSE	a machine may stand still beyond the deadline of its handler
 *	FENCE	the third party refuses an action of an attempt older than one that acted
 *	FIND	... or older than one that asked
 */
#define ATTEMPTS 3

byte attempt;
bool grabbed, done;
bool late[ATTEMPTS + 1];
bool alive[ATTEMPTS + 1];
byte in_flight;

/* The third party. */
byte actions, newest;

#ifdef LATE
#define MAY_TAKE_OVER late[attempt]
#else
#define MAY_TAKE_OVER true
#endif

#ifdef FENCE
#define ACCEPTED newest <= me
#else
#define ACCEPTED true
#endif

active proctype database()
{
end:
	do
	:: atomic {
			!grabbed && !done && attempt < ATTEMPTS ->
			attempt++;
			grabbed = true;
			alive[attempt] = true;
			in_flight++;
#ifndef PAUSE
			assert(in_flight == 1);
#endif
			run handler(attempt)
		}
	:: atomic { grabbed && MAY_TAKE_OVER -> grabbed = false }
	od
}

inline die(n)
{
	alive[n] = false;
	in_flight--
}

inline note(n)
{
	if
	:: newest < n -> newest = n
	:: else
	fi
}

proctype handler(byte me)
{
	bool found;

	/* An action under way is not found. */
	atomic {
		if
		:: alive[me] ->
			found = actions > 0;
#ifdef FIND
			note(me)
#endif
		:: else -> goto out
		fi
	}
	atomic {
		if
		:: alive[me] && !found && ACCEPTED ->
			note(me);
			actions++;
			assert(actions == 1);
			die(me)
		:: alive[me] && !found && !(ACCEPTED) -> die(me); goto out
		:: alive[me] && found -> die(me)
		:: alive[me] -> die(me); goto out		/* the handler crashed */
		:: !alive[me] -> goto out
		fi
	}
	atomic {
		if
		:: grabbed && attempt == me -> grabbed = false; done = true
		:: else
		fi
	}
out:
	skip
}

/* Deadlines pass in any order; a pause keeps a handler alive beyond its own. */
active proctype clock()
{
	byte n;
end:
	do
	:: atomic {
			select(n : 1 .. ATTEMPTS);
			if
			:: n <= attempt && !late[n] ->
				late[n] = true;
				if
				:: alive[n] -> die(n)
				:: !alive[n]
#ifdef PAUSE
				:: true
#endif
				fi
			:: else
			fi
		}
	od
}
