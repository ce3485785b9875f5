#!/usr/bin/env python3
"""ledger_worker.py LEDGER GATE -- a worker that says in LEDGER when it starts
and ends a task, and waits at the fifo GATE between them ("-": does not)."""

import json
import os
import sys

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
gate = None if sys.argv[2] == "-" else os.open(sys.argv[2], os.O_RDONLY)


def note(what, task):
    fields = what, task["id"], task["version"], task["tries"], os.getpid(), task["type"]
    os.write(ledger, (" ".join(map(str, fields)) + "\n").encode())


for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    note("start", task)
    if gate is not None:
        os.read(gate, 1)
    note("end", task)
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
