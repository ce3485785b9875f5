#!/usr/bin/env python3
"""A worker in Python: one JSON object per line, on stdin and on stdout."""

import json
import os
import sys
import traceback


def do_task(task):
    """Put your work here.  Returns the members of the reply."""
    return {"result": "done"}


def describe(error):
    """The kind of error and its text, and the end of the traceback."""
    return f"{type(error).__name__}: {error}"[:1000] + "\n" + traceback.format_exc()[-3000:]


def answer(task, members):
    line = json.dumps({"id": task["id"], "version": task["version"], **members})
    replies.write(line + "\n")
    replies.flush()  # stdout is a pipe, so Python buffers it


# Only replies go to stdout.  print() goes to stderr, and so to the log.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.stdout.reconfigure(line_buffering=True)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue  # a hello or a cancel: one task at a time, nothing to stop
    answer(task, {"started": True})
    try:
        reply = do_task(task)
    except Exception as error:
        reply = {"result": "retry", "message": describe(error)}
    answer(task, reply)
