#!/usr/bin/env python3
"""chain_worker.py LEDGER -- a worker whose replies add the next task of a chain,
while data says that some are left."""

import json
import os
import sys

ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    fields = "start", task["id"], task["version"], task["tries"], os.getpid(), task["type"]
    os.write(ledger, (" ".join(map(str, fields)) + "\n").encode())
    reply = {"id": task["id"], "version": task["version"], "result": "done"}
    chain, left = task["data"]["chain"], task["data"]["left"]
    if left > 0:
        reply["add"] = [{"type": task["type"], "data": {"chain": chain, "left": left - 1}}]
    print(json.dumps(reply), flush=True)
