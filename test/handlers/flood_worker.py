#!/usr/bin/env python3
"""flood_worker.py LEDGER -- a worker that says in LEDGER which tasks it starts,
before it does anything else, and replies at once.

Data {"follow": N} makes it add a task with N - 1, whose key names this task.
"""

import json
import os
import sys

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    os.write(ledger, f"{task['id']} {task['version']} {task['type']}\n".encode())
    reply = {"id": task["id"], "version": task["version"], "result": "done"}
    follow = (task["data"] or {}).get("follow", 0)
    if follow > 0:
        reply["add"] = [{"type": task["type"], "data": {"follow": follow - 1}, "key": "after-" + task["id"]}]
    print(json.dumps(reply), flush=True)
