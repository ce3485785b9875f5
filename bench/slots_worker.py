"""slots_worker.py LEDGER MS -- a worker whose tasks take so long.

It appends to LEDGER when each began and ended, by a clock that all share.
"""

import json
import sys
import time
from pathlib import Path

with Path(sys.argv[1]).open("a", encoding="utf-8") as ledger:
    for line in sys.stdin:
        task = json.loads(line)
        if "id" not in task:
            continue
        began = time.monotonic()
        time.sleep(float(sys.argv[2]) / 1000)
        ledger.write(f"{began} {time.monotonic()}\n")
        ledger.flush()
        print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}),
              flush=True)
