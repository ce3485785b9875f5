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
#define SWEEPS 3
#define VERSIONS 16

mtype = { absent, submitted, processing, done, error };

mtype status = absent;
byte version;
chan triggers = [3] of { byte };

byte crashes, takeovers, sweeps;

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

proctype leader()
{
end:
	do
	:: atomic { status == submitted && sweeps < SWEEPS -> sweeps++; wake(version) }
	:: atomic {
			status == processing && takeovers < TAKEOVERS ->
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

inline maybe_crash()
{
	if
	:: atomic { crashes < CRASHES -> crashes++; goto end }
	:: true
	fi
}

#ifdef BLIND_GRAB
#define MAY_GRAB status != absent
#else
#define MAY_GRAB status == submitted && version == seen
#endif

#if defined(NO_FENCE)
#define MAY_FINISH true
#elif defined(NO_VERSION)
#define MAY_FINISH status == processing
#else
#define MAY_FINISH status == processing && version == mine
#endif

proctype node()
{
	byte seen, mine;
end:
	do
	:: atomic {
			triggers ? seen;
			if
			:: MAY_GRAB -> version++; status = processing; mine = version
			:: else -> goto end
			fi
		}
		maybe_crash();
		atomic {
			starts++;
			starts_of[mine]++;
			assert(!rolled_back);
			assert(starts_of[mine] == 1)
		}
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
	od
}

init
{
	byte i;

	atomic {
		run producer();
		run leader();
		for (i : 1 .. NODES) { run node() }
	}
}
