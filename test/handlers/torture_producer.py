#!/usr/bin/env python3
"""torture_producer.py RECORD CONNSTR NAME SEED BATCH [topics] -- adds tasks and ordered events, and starts
identifiers of kinds, in random transactions until it is told to end, and keeps a record of its own.
With "topics" some of the events go to Kafka, and messages too.

Each line of RECORD begins with the name of a transaction.  Before the transaction begins,
"add ID", "event OBJECT TEXT", "start IDENTIFIER" and "message KEY TEXT" say what is to stay, and
"drop", "noevent", "nostart" and "nomessage" what the transaction takes back itself.
Afterwards a line says what the server answered: committed, refused or unknown.  It speaks
through psql, which it starts again when the server has ended it, or was silent for long.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid

record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
connstr, name, seed, batch = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
with_topics = "topics" in sys.argv[6:]
chance = random.Random(seed)
told = False
LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
# The types of the first tasks of a list.
TYPES = ["WORK_ONCE", "WORK_AGAIN", "SQL"] * 4 + ["BATCH_ONCE", "BATCH_AGAIN", "SQL_BATCH", "RUN_ONCE", "RUN_AGAIN"]
FIRST = 30
# A job adds many tasks at once, which must be cheap: a process for each would take all processors.
MANY = ["BATCH_ONCE", "BATCH_AGAIN", "SQL_BATCH"] * 4 + ["WORK_ONCE", "WORK_AGAIN", "SQL"]
# Seconds between two transactions on average.
PAUSE = 0.06
# Seconds without an answer after which a transaction is given up.
PATIENCE = 12
NOT_FOLLOWED = ("RUN_ONCE", "RUN_AGAIN")
# An object whose head may not start again may stand still, so there are new ones all the time.
TRANSACTIONS_PER_OBJECT = 30
# Few objects and several events at once: more wait behind a head than the next one takes.
OBJECTS = 4
EVENTS = 4
# Keys of messages.
KEYS = 5
# Words of RECORD for what is to stay and for what is taken back.
WORDS = {"add": "drop", "event": "noevent", "start": "nostart", "message": "nomessage"}

# Statements with the places of up to three lists of tasks, the lists that stay if it is
# committed, and its end.
KINDS = [
    ("<0> <1>", "01", "commit"),
    ("<0> <1>", "01", "commit"),
    ("<0> <1>", "01", "rollback"),
    ("<0> SAVEPOINT s; <1> ROLLBACK TO s;", "0", "commit"),
    ("SAVEPOINT s; <0> RELEASE s; <1>", "01", "commit"),
    ("<0> SAVEPOINT s; <1> SAVEPOINT t; <2> RELEASE t; ROLLBACK TO s;", "0", "commit"),
    ("<0> SAVEPOINT s; <1> SAVEPOINT t; <2> ROLLBACK TO t; RELEASE s;", "01", "commit"),
    ("<0> DO $$BEGIN <1> RAISE 'no'; EXCEPTION WHEN raise_exception THEN NULL; END$$;", "0", "commit"),
    ("<0> <1>", "01", "prepared"),
    ("<0> SAVEPOINT s; <1> ROLLBACK TO s; <2>", "02", "prepared"),
    ("<0> <1>", "01", "unprepared"),
]
ENDS = {
    "commit": "COMMIT;",
    "rollback": "ROLLBACK;",
    "prepared": "PREPARE TRANSACTION '{gid}'; COMMIT PREPARED '{gid}';",
    "unprepared": "PREPARE TRANSACTION '{gid}'; ROLLBACK PREPARED '{gid}';",
}


def stop(*_):
    global told
    told = True


def note(lines):
    os.write(record, "".join(line + "\n" for line in lines).encode())


def new_ids():
    """The ids of a list of tasks, in any order or in that of their time, as the product makes them."""
    count = chance.randint(1, batch)
    first = int(time.time() * 1000) << 80 if chance.random() < 0.8 else None
    drawn = [chance.getrandbits(80 if first else 128) | (first or 0) for _ in range(count)]
    return [str(uuid.UUID(int=one, version=4)) for one in drawn]


def row(place, one):
    kind = chance.choice(TYPES if place < FIRST else MANY)
    follow = 0 if kind in NOT_FOLLOWED else chance.choice([0, 0, 1, 2]) if place < FIRST else int(chance.random() < 0.1)
    return f"('{kind}', '{{\"follow\": {follow}}}'::jsonb, '{one}'::uuid)"


def adds(ids, in_function):
    """A statement that adds these tasks, one by one or all by one call."""
    rows = f"(VALUES {', '.join(row(*one) for one in enumerate(ids))}) v(t, d, i)"
    begin = "PERFORM" if in_function else "SELECT"
    if chance.random() < 0.3:
        new = "(t, d, NULL, NULL, i, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task"
        return f"{begin} count(*) FROM twtasks.add_tasks(ARRAY(SELECT {new} FROM {rows}));"
    later = ", run_after => clock_timestamp() + random() * interval '1 s'" if chance.random() < 0.2 else ""
    return f"{begin} count(twtasks.add_task(t, data => d, task_id => i{later})) FROM {rows};"


def literal(text):
    """A JSON string as SQL."""
    return f"'\"{text}\"'"


def events(target, names, begin):
    """Statements that add events of an object, one by one or all by one call."""
    stream = re.match("[a-z]+", target).group()
    groups = [names] if chance.random() < 0.5 else [[one] for one in names]
    statements = ""
    for first, *more in groups:
        sub_events = f", ARRAY[{', '.join(map(literal, more))}]::jsonb[]" if more else ""
        statements += f" {begin} twtasks.add_event('{stream}', '{target}', {literal(first)}{sub_events});"
    return statements


def to_topics(name, begin):
    """The same as others(), of events and messages that go to Kafka."""
    statements, words = "", []
    if chance.random() < 0.3:
        # The object of a head that goes to Kafka is its topic.
        target = f"topic-{chance.randrange(OBJECTS)}"
        # The places after those of events that go to workers.
        names = [f"{name}{EVENTS + place}" for place in range(chance.randint(1, EVENTS))]
        statements += events(target, names, begin)
        words += [("event", f"{target} {one}") for one in names]
    if chance.random() < 0.3:
        values = [f"k{chance.randrange(KEYS)} {name}{place}" for place in range(chance.randint(1, EVENTS))]
        messages = ", ".join(f"twtasks.kafka_message('{value.split()[0]}', '{value}')" for value in values)
        statements += f" {begin} count(*) FROM twtasks.send_to_kafka('messages', ARRAY[{messages}]);"
        words += [("message", value) for value in values]
    return statements, words


def others(gid, number, begin):
    """Statements that add events and start an identifier, or not, and what RECORD says of them."""
    name, statements, words = f"{gid}-{number}", "", []
    if chance.random() < 0.5:
        once = f"once:{int(gid.split('-')[1]) // TRANSACTIONS_PER_OBJECT}-{chance.randrange(2)}"
        target = once if chance.random() < 0.3 else f"again:{chance.randrange(OBJECTS)}"
        names = [f"{name}{place}" for place in range(chance.randint(1, EVENTS))]
        statements += events(target, names, begin)
        words += [("event", f"{target} {one}") for one in names]
    if chance.random() < 0.25:
        kind = chance.choice(["idem", "box"])
        statements += f" {begin} twtasks.start('{kind}', '{{\"n\": \"{name}\"}}');"
        words.append(("start", f"{kind}-{name}"))
    if with_topics:
        more, more_words = to_topics(name, begin)
        return statements + more, words + more_words
    return statements, words


def transaction(gid):
    """Its statements, what RECORD says of them, and how it ends."""
    template, stays, end = chance.choice(KINDS)
    lists = [new_ids() for _ in "012"]
    ending = ENDS[end].format(gid=gid)
    text = f"BEGIN ISOLATION LEVEL {chance.choice(LEVELS)}; {template} {ending}"
    lines = []
    for number in range(3):
        if f"<{number}>" not in template:
            continue
        in_function = "DO $$" in template and number == 1
        statements, more = others(gid, number, "PERFORM" if in_function else "SELECT")
        text = text.replace(f"<{number}>", adds(lists[number], in_function) + statements)
        words = [("add", one) for one in lists[number]] + more
        lines += [f"{gid} {what if str(number) in stays else WORDS[what]} {rest}" for what, rest in words]
    return text, lines, end


def open_session():
    return subprocess.Popen(
        ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", connstr],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
    )


def connected():
    """A session, or none while no server lets us in: a transaction that cannot begin tells nothing."""
    psql = open_session()
    if run(psql, "SELECT;") == "ended":
        return psql
    psql.kill()
    psql.wait()
    return None


def run(psql, text):
    """ended if all statements have succeeded; refused if one failed; else lost."""
    answer = "lost"
    patience = threading.Timer(PATIENCE, psql.kill)
    patience.start()
    try:
        psql.stdin.write(text + "\n\\echo ended\n")
        psql.stdin.flush()
        for line in psql.stdout:
            if line == "ended\n":
                return "ended"
            if " ERROR: " in line:
                answer = "refused"
    except OSError:
        pass
    finally:
        patience.cancel()
    return answer


def fate(answer, end):
    """The fate of the transaction, as far as the server has told it.  A prepared one outlives its session."""
    if answer == "ended":
        return "refused" if end in ("rollback", "unprepared") else "committed"
    if end == "rollback" or (end == "commit" and answer == "refused"):
        return "refused"
    return "unknown"


signal.signal(signal.SIGTERM, stop)
session, count = None, 0
while not told:
    signal.sigtimedwait([], chance.expovariate(1 / PAUSE))
    session = session or connected()
    if not session:
        continue
    count += 1
    tx = f"{name}-{count}"
    statements, lines, end = transaction(tx)
    note(lines)
    said = run(session, statements)
    note([f"{tx} {fate(said, end)}"])
    if said != "ended":
        session.kill()
        session.wait()
        session = None
if session:
    session.stdin.close()
    session.wait()
