#!/usr/bin/env python3
"""torture_worker.py LEDGER -- a worker that says in LEDGER when it starts a task, before
it does anything else, and when it ends it, before it replies.

Data {"follow": N} makes it add a task with N - 1, which names this one in "after".  It says
what events it sends, and for which identifier of a kind it acts and with which key.
Types that may run again fail at times, and a few tasks take a while.
"""

import json
import os
import random
import sys
import time

# Seconds between two events of a head.
MOST_BETWEEN = 0.04

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)


def note(what, task, more):
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.write(ledger, f"{what} {task['id']} {task['version']} {more} {now:.3f}\n".encode())


def send(task):
    """Takes a while between the events, so that a second head of the object would come between."""
    data = task["data"]
    for e in data["events"]:
        line = f"sent {task['id']} {task['version']} {data['object']} {e['id']} {e['event']}\n"
        os.write(ledger, line.encode())
        time.sleep(random.random() * MOST_BETWEEN)


def act(task):
    """The outcome of a step, and its result.  A refused action is surely not done; after an error nobody knows."""
    drawn = random.random()
    if drawn < 0.1:
        return {"fault": "declined"}, "done"
    key = (task.get("context") or {}).get("idempotency_key", "-")
    os.write(ledger, f"act {task['id']} {task['version']} {task['data']['identifier']} {key}\n".encode())
    return {"decision": "paid"}, "error" if drawn < 0.13 else "done"


for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    note("start", task, task["type"])
    if random.random() < 0.02:
        time.sleep(random.random() / 5)
    data = task["data"] or {}
    result = "retry" if task["type"] in ("WORK_AGAIN", "HEAD_AGAIN") and random.random() < 0.05 else "done"
    reply = {"id": task["id"], "version": task["version"]}
    if "events" in data:
        send(task)
    elif "identifier" in data:
        reply["outcome"], result = act(task)
    reply["result"] = result
    follow = data.get("follow", 0)
    if result == "done" and follow > 0:
        data = {"follow": follow - 1, "after": task["id"]}
        reply["add"] = [{"type": task["type"], "data": data, "key": "after-" + task["id"]}]
    note("end", task, result)
    print(json.dumps(reply), flush=True)
