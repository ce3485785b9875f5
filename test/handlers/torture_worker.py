#!/usr/bin/env python3
"""torture_worker.py LEDGER -- a worker that says in LEDGER when it starts a task, before
it does anything else, and when it ends it, before it replies.

Data {"follow": N} makes it add a task with N - 1, which names this one in "after".
Types that may run again fail at times, and a few tasks take a while.
"""

import json
import os
import random
import sys
import time

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)


def note(what, task, more):
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.write(ledger, f"{what} {task['id']} {task['version']} {more} {now:.3f}\n".encode())


for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    note("start", task, task["type"])
    if random.random() < 0.02:
        time.sleep(random.random() / 5)
    result = "retry" if task["type"] == "WORK_AGAIN" and random.random() < 0.05 else "done"
    reply = {"id": task["id"], "version": task["version"], "result": result}
    follow = (task["data"] or {}).get("follow", 0)
    if result == "done" and follow > 0:
        data = {"follow": follow - 1, "after": task["id"]}
        reply["add"] = [{"type": task["type"], "data": data, "key": "after-" + task["id"]}]
    note("end", task, result)
    print(json.dumps(reply), flush=True)
