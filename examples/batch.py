#!/usr/bin/env python3
"""A worker in Python for batches: each line has a list of tasks, and one line answers
all that are done."""

import json
import os
import sys


def do_tasks(tasks):
    """Put your work here, such as one call of a bulk API.  Returns the answers of tasks
    that are not done: members of the reply by the task's id."""
    return {}


def answer(tasks, members):
    ids = [task["id"] for task in tasks]
    versions = [task["version"] for task in tasks]
    print(json.dumps({"ids": ids, "versions": versions, **members}), file=replies, flush=True)


# Only replies go to stdout.  print() goes to stderr, and so to the log.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

for line in sys.stdin:
    tasks = json.loads(line).get("tasks")
    if tasks is None:
        continue  # a hello or a cancel: one batch at a time, nothing to stop
    answer(tasks, {"started": True})
    try:
        others = do_tasks(tasks)
    except Exception as error:
        answer(tasks, {"result": "retry", "message": f"{type(error).__name__}: {error}"[:1000]})
        continue
    for task in tasks:
        if task["id"] in others:
            answer([task], others[task["id"]])
    answer([task for task in tasks if task["id"] not in others], {"result": "done"})
