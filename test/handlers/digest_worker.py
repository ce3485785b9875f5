#!/usr/bin/env python3
"""A worker that replies with the SHA-256 of what it got, as the message."""

import base64
import hashlib
import json
import sys

for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    if "payload_base64" in task:
        data = base64.b64decode(task["payload_base64"], validate=True)
    else:
        data = json.dumps(task["data"]).encode()
    reply = {"result": "done", "message": hashlib.sha256(data).hexdigest()}
    print(json.dumps({"id": task["id"], "version": task["version"], **reply}), flush=True)
