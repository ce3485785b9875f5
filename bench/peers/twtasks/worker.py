"""The worker that a user would write, and a tally for the measurement."""

import json
import mmap
import struct
import sys
import time

with open(sys.argv[1], "r+b") as file:
    tally = mmap.mmap(file.fileno(), 16)
handled = 0
for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    if handled == 0:
        tally[:8] = struct.pack("q", time.monotonic_ns())
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
    handled += 1
    tally[8:] = struct.pack("q", handled)
