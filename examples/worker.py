#!/usr/bin/env python3
"""A worker in Python: one JSON object per line, on stdin and on stdout."""

import json
import sys


def do_task(task):
    """Your work.  Returns what became of it: the members of the reply."""
    return {"result": "done"}


for line in sys.stdin:
    task = json.loads(line)
    if "cancel" in task:
        continue  # one task at a time: there is nothing to stop
    try:
        reply = do_task(task)
    except Exception as error:
        reply = {"result": "retry", "message": str(error)}
    reply.update(id=task["id"], version=task["version"])

    # stdout is a pipe, and buffered: without the flush nobody hears of it.
    print(json.dumps(reply), flush=True)
