#!/usr/bin/env python3
"""torture_worker.py LEDGER -- a worker that says in LEDGER when it starts a task, before
it does anything else, and when it ends it, before it replies.  It takes batches, too.

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
# How often a task fails, by its type.  Failures make the next batches small.
FAILURES = {"WORK_AGAIN": 0.05, "HEAD_AGAIN": 0.05, "BATCH_AGAIN": 0.005}

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)


def write(lines):
    """A worker that is killed may write a part: its last line lacks " .", and the next writer begins a new one."""
    os.write(ledger, ("\n" + "".join(line + " .\n" for line in lines)).encode())


def note(what, words):
    """One write of lines, each of a task and a word."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    write([f"{what} {task['id']} {task['version']} {word} {now:.3f}" for task, word in words])


def nap():
    if random.random() < 0.02:
        time.sleep(random.random() / 5)


def result_of(task):
    return "retry" if random.random() < FAILURES.get(task["type"], 0) else "done"


def followers(task):
    """The members of a reply that add what follows the task."""
    follow = (task["data"] or {}).get("follow", 0)
    if follow <= 0:
        return {}
    data = {"follow": follow - 1, "after": task["id"]}
    return {"add": [{"type": task["type"], "data": data, "key": "after-" + task["id"]}]}


def send(task):
    """Takes a while between the events, so that a second head of the object would come between."""
    data = task["data"]
    for e in data["events"]:
        write([f"sent {task['id']} {task['version']} {data['object']} {e['id']} {e['event']}"])
        time.sleep(random.random() * MOST_BETWEEN)


def act(task):
    """The outcome of a step, and its result.  A refused action is surely not done; after an error nobody knows."""
    drawn = random.random()
    if drawn < 0.1:
        return {"fault": "declined"}, "done"
    key = (task.get("context") or {}).get("idempotency_key", "-")
    write([f"act {task['id']} {task['version']} {task['data']['identifier']} {key}"])
    return {"decision": "paid"}, "error" if drawn < 0.13 else "done"


def do_task(task):
    """Replies to one task."""
    note("start", [(task, task["type"])])
    nap()
    data = task["data"] or {}
    result = result_of(task)
    reply = {"id": task["id"], "version": task["version"]}
    if "events" in data:
        send(task)
    elif "identifier" in data:
        reply["outcome"], result = act(task)
    reply["result"] = result
    if result == "done":
        reply.update(followers(task))
    note("end", [(task, result)])
    return [reply]


def to_all(tasks, **members):
    return {"ids": [task["id"] for task in tasks], "versions": [task["version"] for task in tasks], **members}


def do_batch(tasks):
    """Replies to many tasks: to those that add a task one by one, and to the others together."""
    note("start", [(task, task["type"]) for task in tasks])
    nap()
    ends = [(task, result_of(task)) for task in tasks]
    replies, together = [], {"done": [], "retry": []}
    for task, result in ends:
        adds = followers(task) if result == "done" else {}
        if adds:
            replies.append({"id": task["id"], "version": task["version"], "result": result, **adds})
        else:
            together[result].append(task)
    note("end", ends)
    return replies + [to_all(named, result=result) for result, named in together.items() if named]


def say(replies):
    sys.stdout.write("".join(json.dumps(reply) + "\n" for reply in replies))
    sys.stdout.flush()


for line in sys.stdin:
    given = json.loads(line)
    if "tasks" in given:
        # Batches that are in the pipe go back if this worker dies.
        say([to_all(given["tasks"], started=True)])
        say(do_batch(given["tasks"]))
    elif "id" in given:
        say(do_task(given))
