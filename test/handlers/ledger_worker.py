#!/usr/bin/env python3
"""ledger_worker.py LEDGER GATE [MS] -- a worker that says in LEDGER when it
starts and ends a task, and waits at the fifo GATE between them ("-": does not),
or for so long."""

import json
import os
import sys
import time

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
seconds = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0
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
    time.sleep(seconds)
    note("end", task)
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
