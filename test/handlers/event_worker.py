#!/usr/bin/env python3
"""event_worker.py RECORD GATE -- a consumer of ordered events that appends what
it gets to RECORD, and then waits at the fifo GATE ("-": does not)."""

import json
import os
import sys

record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
gate = None if sys.argv[2] == "-" else os.open(sys.argv[2], os.O_RDONLY)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    # one write, so that lines of other workers do not mix with it
    got = {"task": task["id"], "version": task["version"], "pid": os.getpid(), **task["data"]}
    os.write(record, (json.dumps(got, sort_keys=True) + "\n").encode())
    if gate is not None:
        os.read(gate, 1)
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
