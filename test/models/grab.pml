/*
 * A task from its commit to its end: triggers, grabs, finishes, take-overs.
 *
 * A trigger names a version of the row.  It may be lost, come twice or late,
 * or come from a transaction that was rolled back.  A grab and a finish are
 * one step each, and take effect only if the row has the version that they
 * name.  A node can crash between any two steps, and the leader takes tasks
 * away from nodes that it believes gone, rightly or not.
 *
 *	RETRY		a task taken away, or failed, is SUBMITTED again; else it ends in ERROR
 *	BLIND_GRAB	mutant: a grab names no version and no status
 *	NO_VERSION	mutant: a finish names the status only
 *	NO_FENCE	mutant: a finish names neither version nor status
 *
 * With SESSION the leader takes tasks away from no other nodes than those whose
 * session has ended for longer than the grace.  The node may not hear of that
 * end.  Its clock counts from when it sends a grab or another question to the
 * database.  No task starts after it was taken away.
 *
 *	WINDOW		how long after it sent the question a node may start the task
 *	LATE_START	mutant: it may start the task however late the answer comes
 *	FROM_ANSWER	mutant: its clock counts from the answer
 *	NO_SESSION	mutant: a grab does not require the session of its node
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 2
#endif
#ifndef CUTS
#define CUTS 2
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#define GRACE 3
#define LONG 5
#define SWEEPS 3
#define VERSIONS 16

mtype = { absent, submitted, processing, done, error };

mtype status = absent;
byte version;
chan triggers = [3] of { byte };

byte crashes, takeovers, sweeps, cuts;

/* Of each node: its session, for how long that is gone, and its own clock. */
bool lost[NODES + 1], ended[NODES + 1];
byte missing[NODES + 1], age[NODES + 1];
byte owner;

/* What an observer of all nodes knows. */
bool rolled_back, was_done;
bool taken[VERSIONS];
byte starts, starts_of[VERSIONS];

/* Every trigger may be lost. */
inline wake(v)
{
	if
	:: nfull(triggers) -> triggers ! v
	:: true
	fi
}

proctype producer()
{
	if
	:: atomic { status = submitted; wake(0); wake(0) }
	:: atomic { rolled_back = true; wake(0) }
	fi
}

#ifdef SESSION
/* Time passes for all, and sessions end. */
proctype clock()
{
	byte i;
end:
	do
	:: atomic {
			for (i : 1 .. NODES) {
				if
				:: lost[i] && missing[i] < LONG -> missing[i]++
				:: else
				fi;
				if
				:: age[i] < LONG -> age[i]++
				:: else
				fi
			};
			i = 0
		}
	:: atomic {
			cuts < CUTS ->
			cuts++;
			select(i : 1 .. NODES);
			lost[i] = true;
			i = 0
		}
	:: atomic {
			select(i : 1 .. NODES);
			if
			:: missing[i] > GRACE -> ended[i] = true
			:: else
			fi;
			i = 0
		}
	od
}
#endif

#ifdef SESSION
#define MAY_TAKE ended[owner]
#else
#define MAY_TAKE true
#endif

proctype leader()
{
end:
	do
	:: atomic { status == submitted && sweeps < SWEEPS -> sweeps++; wake(version) }
	:: atomic {
			status == processing && takeovers < TAKEOVERS && MAY_TAKE ->
			takeovers++;
			taken[version] = true;
			version++;
#ifdef RETRY
			status = submitted;
			wake(version)
#else
			status = error
#endif
		}
	od
}

#ifdef SESSION
#define CRASH lost[me] = true; goto dead
#else
#define CRASH goto end
#endif

inline maybe_crash()
{
	if
	:: atomic { crashes < CRASHES -> crashes++; CRASH }
	:: true
	fi
}

#if defined(BLIND_GRAB)
#define MAY_GRAB status != absent
#elif defined(SESSION) && !defined(NO_SESSION)
#define MAY_GRAB status == submitted && version == seen && !lost[me] && !ended[me]
#elif defined(SESSION)
#define MAY_GRAB status == submitted && version == seen && !ended[me]
#else
#define MAY_GRAB status == submitted && version == seen
#endif

#ifdef LATE_START
#define MAY_START true
#else
#define MAY_START age[me] < WINDOW
#endif
#ifdef FROM_ANSWER
#define ANSWERED age[me] = 0
#else
#define ANSWERED skip
#endif

#if defined(NO_FENCE)
#define MAY_FINISH true
#elif defined(NO_VERSION)
#define MAY_FINISH status == processing
#else
#define MAY_FINISH status == processing && version == mine
#endif

proctype node(byte me)
{
	byte seen, mine;
end:
	do
	:: atomic {
			triggers ? seen;
#ifdef SESSION
			age[me] = 0
		}
		atomic {
#endif
			if
			:: MAY_GRAB -> version++; status = processing; mine = version; owner = me
			:: else -> goto end
			fi
		}
		maybe_crash();
#ifdef SESSION
		ANSWERED;
ask:
		/* Late: a tick gives it a session, and a query shows whose the task is. */
		if
		:: atomic { !(MAY_START) -> age[me] = 0 };
			atomic {
				if
				:: ended[me] -> goto dead
				:: else -> lost[me] = false; missing[me] = 0
				fi
			};
			ANSWERED;
			goto ask
		:: atomic { MAY_START -> assert(!taken[mine]);
#else
		atomic {
#endif
			starts++;
			starts_of[mine]++;
			assert(!rolled_back);
			assert(starts_of[mine] == 1)
		}
#ifdef SESSION
		fi;
#endif
#ifndef RETRY
		assert(starts == 1);
#endif
		maybe_crash();
		atomic {
			if
			:: MAY_FINISH ->
				assert(!taken[mine]);		/* a late finish has no effect */
				version++;
				if
				:: assert(!was_done); status = done; was_done = true
#ifdef RETRY
				:: version < 7 -> status = submitted; wake(version)
#endif
				fi
			:: else ->
				assert(taken[mine])			/* a finish is refused for no other reason */
			fi;
			assert(!was_done || status == done)
		}
	od;
dead:
	skip
}

init
{
	byte i;

	atomic {
		run producer();
		run leader();
#ifdef SESSION
		run clock();
#endif
		for (i : 1 .. NODES) { run node(i) }
	}
}
