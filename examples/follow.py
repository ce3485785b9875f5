#!/usr/bin/env python3
"""A worker whose reply adds the task that follows, in the transaction that
finishes its own."""

import json
import os
import sys

# Only replies go to stdout.  print() goes to stderr, and so to the log.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue  # a hello or a cancel
    # Put your work here.
    payment = task["data"]["payment"]
    receipt = {"type": "SEND_RECEIPT", "data": task["data"], "key": f"receipt-{payment}"}
    reply = {"id": task["id"], "version": task["version"], "result": "done", "add": [receipt]}
    print(json.dumps(reply, separators=(",", ":")), file=replies, flush=True)
