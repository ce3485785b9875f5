#!/usr/bin/env python3
"""flood_producer.py RECORD CONNSTR NAME SEED BATCH -- adds tasks in random
transactions until it is told to end, and keeps a record of its own.

Each id is in the record before its task is added, as "intended", and again with
what became of it: committed, gone or open.  It speaks through psql, which it
starts again when the server has ended it.
"""

import os
import random
import signal
import subprocess
import sys
import uuid

record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
connstr, name, seed, batch = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
chance = random.Random(seed)
told = False
LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


def stop(*_):
    global told
    told = True


def note(ids, what):
    os.write(record, "".join(f"{one} {what}\n" for one in ids).encode())


def adds(ids):
    rows = ", ".join(
        f"('{chance.choice(['ONCE', 'AGAIN'])}', '{{\"follow\": {chance.choice([0, 0, 1, 2])}}}'::jsonb, '{one}'::uuid)"
        for one in ids
    )
    return f"SELECT count(twtasks.add_task(t, data => d, task_id => i)) FROM (VALUES {rows}) v(t, d, i);"


def transaction(number):
    """The statements, and the ids by what becomes of them if all goes well."""
    one, two = ([uuid.UUID(int=chance.getrandbits(128), version=4) for _ in range(chance.randint(1, batch))] for _ in "12")
    begin = f"BEGIN ISOLATION LEVEL {chance.choice(LEVELS)};"
    kind = chance.choice(["commit", "commit", "commit", "rollback", "savepoint", "released", "prepared", "unprepared"])
    gid = f"{name}-{number}"
    if kind == "commit":
        return f"{begin} {adds(one)} {adds(two)} COMMIT;", one + two, []
    if kind == "rollback":
        return f"{begin} {adds(one)} {adds(two)} ROLLBACK;", [], one + two
    if kind == "savepoint":
        return f"{begin} {adds(one)} SAVEPOINT s; {adds(two)} ROLLBACK TO s; COMMIT;", one, two
    if kind == "released":
        return f"{begin} SAVEPOINT s; {adds(one)} RELEASE s; {adds(two)} COMMIT;", one + two, []
    if kind == "prepared":
        return f"{begin} {adds(one)} {adds(two)} PREPARE TRANSACTION '{gid}'; COMMIT PREPARED '{gid}';", one + two, []
    return f"{begin} {adds(one)} {adds(two)} PREPARE TRANSACTION '{gid}'; ROLLBACK PREPARED '{gid}';", [], one + two


def open_session():
    return subprocess.Popen(
        ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", connstr],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
    )


def run(psql, text):
    """True if all statements have succeeded."""
    try:
        psql.stdin.write(text + "\n\\echo ended\n")
        psql.stdin.flush()
        for line in psql.stdout:
            if line == "ended\n":
                return True
    except OSError:
        pass
    return False


signal.signal(signal.SIGTERM, stop)
session, count = None, 0
while not told:
    count += 1
    statements, committed, gone = transaction(count)
    session = session or open_session()
    note(committed + gone, "intended")
    if run(session, statements):
        note(committed, "committed")
        note(gone, "gone")
    else:
        note(committed + gone, "open")
        session.kill()
        session.wait()
        session = None
        signal.sigtimedwait([], 0.05)
if session:
    session.stdin.close()
    session.wait()
