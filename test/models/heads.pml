/*
 * Ordered events of one object as twtasks_events sends them: the object's live
 * head task is its ownership.  Locks last to the end of a transaction, and a
 * statement sees what had committed when it began.
 *
 *	add		an event and an entry of the list, in one commit
 *	start	locks a listed object, and then reads its entries; those of a locked object
 *			stay.  In a later statement it looks whether the head lives.  If none does, it
 *			makes the next event a head, with id and prev.  It removes the entries that it
 *			read
 *	head	is grabbed by version, sends, is finished by version.  The finish waits for the
 *			object's lock; in a later statement it makes the next event a head
 *
 *	LOOK_ALL		starts also come without an entry, as once a minute
 *	DROP_BUSY		mutant: an entry whose object is locked is removed
 *	EARLY_START		mutant: a start looks at head and queue in the statement that locks
 *	LATE_ENTRIES	mutant: a start reads the entries after head and queue
 *	EARLY_FINISH	mutant: a finish looks at the queue before it has the lock
 *	NO_LOCK			mutant: a start takes no lock
 *	NO_FENCE		mutant: a finish names no version
 *
 * The invariant: queued events are listed, or their object has a live head.
 * A watcher that cannot end shows an event that stays behind.
 */
#ifndef ADDS
#define ADDS 3
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 1
#endif

byte added, removed;				/* the list holds the entries removed + 1 .. added */
byte queued, last_id;
byte lock;						/* who holds the object's row; 0: nobody */
byte crashes, takeovers;

/* The head task. */
bool lives, processing, ending;
byte head_id, head_prev, version;

/* What an observer knows. */
byte given, chain, under_way;
bool was_sent[ADDS + 1];
byte sent_prev[ADDS + 1];

proctype producer()
{
	do
	:: atomic { added < ADDS -> added++; queued++ }
	:: added == ADDS -> break
	od
}

inline make_head()
{
	queued--;
	given++;
	head_id = given;
	head_prev = last_id;
	version++;
	processing = false;
	lives = true
}

inline unlock()
{
	if
	:: lock == me -> lock = 0
	:: else
	fi
}

inline remove()
{
	removed = (removed < entries -> entries : removed)
}

#if defined(EARLY_FINISH) || defined(DROP_BUSY) || defined(EARLY_START) || defined(LATE_ENTRIES)
#define check()		skip		/* the watcher shows what the loss does */
#else
#define check()		assert(queued == 0 || removed < added || lives || lock != 0)
#endif

#ifdef NO_LOCK
#define FREE true
#else
#define FREE lock == 0
#endif

#ifdef LOOK_ALL
#define MAY_LOOK queued > 0 && !lives
#else
#define MAY_LOOK false
#endif

inline start()
{
	byte entries, seen;
	bool lived;

#ifdef EARLY_START
	atomic { lived = lives; seen = queued }
#endif
	atomic {
		if
		:: FREE ->
#ifndef NO_LOCK
			lock = me
#endif
		:: !(FREE) ->
#ifdef DROP_BUSY
			entries = added;
			remove();
#endif
			under_way--;
			goto next
		fi
	}
#ifndef LATE_ENTRIES
	entries = added;
#endif
#ifndef EARLY_START
	atomic { lived = lives; seen = queued }
#endif
#ifdef LATE_ENTRIES
	entries = added;
#endif
	if
	:: atomic { crashes < CRASHES -> crashes++; unlock(); under_way--; goto next }
	:: atomic {
			true ->
			if
			:: !lived && seen > 0 -> assert(!lives && queued > 0); make_head()
			:: else
			fi;
			remove();
			unlock();
			under_way--;
			check();
			goto next
		}
	fi
}

#ifdef NO_FENCE
#define MAY_FINISH lives && processing && !ending
#else
#define MAY_FINISH lives && processing && !ending && version == mine
#endif

inline send()
{
	atomic {
		if
		:: !was_sent[id] ->
			assert(prev < id && prev == chain);
			was_sent[id] = true;
			sent_prev[id] = prev;
			chain = id
		:: else -> assert(sent_prev[id] == prev)		/* a resend is identical */
		fi
	}
}

inline finish()
{
	byte left;

#ifdef EARLY_FINISH
	left = queued;
#endif
	atomic {
		if
		:: MAY_FINISH -> ending = true; under_way++
		:: else -> goto next
		fi
	}
	atomic { lock == 0 -> lock = me }
#ifndef EARLY_FINISH
	left = queued;
#endif
	if
	:: atomic { crashes < CRASHES -> crashes++; ending = false; lock = 0; under_way--; goto next }
	:: atomic {
			true ->
			assert(head_id == id);			/* the chain is moved by its owner alone */
			last_id = id;
			if
			:: left > 0 -> make_head()
			:: else -> lives = false
			fi;
			ending = false;
			lock = 0;
			under_way--;
			check();
			goto next
		}
	fi
}

proctype worker(byte me)
{
	byte mine, id, prev;
end:
	do
	:: atomic { removed < added || MAY_LOOK -> under_way++ }
		start()
	:: atomic {
			lives && !processing ->
			processing = true;
			version++;
			mine = version;
			id = head_id;
			prev = head_prev
		}
		send();
		if
		:: atomic { crashes < CRASHES -> crashes++; goto next }
		:: true
		fi;
		finish();
next:
		skip
	od
}

/* The head of a node that is believed gone runs again; its handler may go on. */
proctype leader()
{
end:
	do
	:: atomic {
			lives && processing && !ending && takeovers < TAKEOVERS + crashes ->
			takeovers++;
			version++;
			processing = false
		}
	od
}

active proctype watcher()
{
	added == ADDS && given == ADDS && queued == 0 && !lives && under_way == 0
}

init
{
	byte i;

	atomic {
		run producer();
		run leader();
		for (i : 1 .. WORKERS) { run worker(i) }
	}
}
