/*
 * Ordered events of one object as "Event ordering" describes them: a queue, a
 * list of objects with events, workers that own an object while they send.
 * Each step of the store is atomic.  A worker that crashes starts again under
 * its own name, and finds in the store what it held.
 *
 *	LITERAL		check the document's central invariant to the letter: there are no
 *				more queued events than entries, listed or held
 *	ZOMBIE		worker 0 is started again although it was only paused
 *	FENCE		every step of a worker names its incarnation
 *
 * The invariant that holds: queued events are listed, or a worker holds the
 * object that owns it or has yet to try to.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define NOBODY 255

/* The store. */
byte pushed, popped;			/* the queue holds the events popped + 1 .. pushed */
byte listed;
byte owner = NOBODY;
byte last_sent, next_id;
bool holds[WORKERS];
byte event_of[WORKERS], id_of[WORKERS];
byte incarnation[WORKERS];

/* What an observer knows. */
byte crashes;
bool tried[WORKERS];
byte sent_id[PUSHES + 1], sent_prev[PUSHES + 1], chain;

inline check()
{
	byte held = 0, i;
	bool covered = popped == pushed || listed > 0;

	for (i : 0 .. WORKERS - 1) {
		assert(owner != i || holds[i]);
		held = held + (holds[i] -> 1 : 0);
		covered = covered || (holds[i] && (owner == i || !tried[i]))
	}
#ifdef LITERAL
	assert(pushed - popped <= listed + held);
#endif
	assert(covered);
	held = 0;
	covered = false
}

#ifdef FENCE
#define STALE incarnation[w] != mine
#else
#define STALE false
#endif

inline maybe_crash()
{
	if
	:: atomic { crashes < CRASHES -> crashes++; goto crashed }
	:: true
	fi
}

inline become_owner()
{
	if
	:: owner == NOBODY -> owner = w
	:: else
	fi;
	tried[w] = true
}

inline send()
{
	atomic {
		assert(id != 0);
		if
		:: sent_id[event] == 0 ->
			assert(prev < id && prev == chain);
			sent_id[event] = id;
			sent_prev[event] = prev;
			chain = id
		:: else ->
			assert(sent_id[event] == id && sent_prev[event] == prev)	/* a resend is identical */
		fi
	}
}

proctype worker(byte w, mine; bool again)
{
	byte event, id, prev;

	if
	:: again ->
		atomic {
			if
			:: STALE -> goto gone
			:: !(STALE) && holds[w] -> become_owner(); event = event_of[w]
			:: else -> goto end
			fi;
			if
			:: owner != w -> goto release
			:: owner == w && event != 0 -> goto process
			:: else -> goto drain
			fi
		}
	:: else
	fi;
end:
	do
	:: atomic { !(STALE) && listed > 0 && !holds[w] -> listed--; holds[w] = true; tried[w] = false; check() }
		maybe_crash();
		atomic {
			if
			:: STALE -> goto gone
			:: else -> become_owner(); check()
			fi;
			if
			:: owner != w -> goto release
			:: else
			fi
		}
drain:
		atomic {
			if
			:: STALE -> goto gone
			:: !(STALE) && popped < pushed ->
				popped++;
				next_id++;
				event = popped;
				event_of[w] = event;
				id_of[w] = next_id
			:: else -> owner = NOBODY; event = 0
			fi;
			check();
			if
			:: event == 0 -> goto release
			:: else
			fi
		}
process:
		maybe_crash();
		atomic {
			if
			:: STALE -> goto gone
			:: else -> id = id_of[w]; prev = last_sent
			fi
		}
		send();
		maybe_crash();
		atomic {
			if
			:: STALE -> goto gone
			:: else -> event_of[w] = 0; id_of[w] = 0; last_sent = id; check()
			fi
		}
		goto drain;
release:
		atomic {
			if
			:: STALE -> goto gone
			:: else -> holds[w] = false; event = 0; check()
			fi
		}
	od;
crashed:
	atomic {
		if
		:: STALE
		:: else ->
#ifdef FENCE
			incarnation[w]++;
#endif
			run worker(w, incarnation[w], true)
		fi
	}
gone:
	skip
}

proctype producer()
{
	do
	:: atomic { pushed < PUSHES -> pushed++; listed++ }
	:: pushed == PUSHES -> break
	od
}

#ifdef ZOMBIE
proctype supervisor()
{
	atomic {
		popped > 0;
#ifdef FENCE
		incarnation[0]++;
#endif
		run worker(0, incarnation[0], true)
	}
}
#endif

init
{
	byte i;

	atomic {
		run producer();
#ifdef ZOMBIE
		run supervisor();
#endif
		for (i : 0 .. WORKERS - 1) { run worker(i, 0, false) }
	}
}
