#!/usr/bin/env python3
"""A worker in Python: one JSON object per line, on stdin and on stdout."""

import json
import os
import sys


def do_task(task):
    """Put your work here.  Returns the members of the reply."""
    return {"result": "done"}


def answer(task, members):
    line = json.dumps({"id": task["id"], "version": task["version"], **members})
    replies.write(line + "\n")
    replies.flush()  # stdout is a pipe, so Python buffers it


# Only replies go to stdout.  print() goes to stderr, and so to the log.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue  # a hello or a cancel: one task at a time, nothing to stop
    answer(task, {"started": True})
    try:
        reply = do_task(task)
    except Exception as error:
        reply = {"result": "retry", "message": str(error)}
    answer(task, reply)
