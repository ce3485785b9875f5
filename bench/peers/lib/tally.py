"""The counts of a worker in C, for the drivers that start one: see worker.c."""

import json
import mmap
import os
import struct
import subprocess
import time
from pathlib import Path


def say(**values: object) -> None:
    print(json.dumps(values), flush=True)


class Tally:
    """Two 64-bit numbers in a file that all workers share: when the first task
    was seen (0: none yet) and how many were answered."""

    now = staticmethod(time.monotonic_ns)

    def __init__(self, directory: Path) -> None:
        self.path = directory / "tally"
        self.path.write_bytes(bytes(16))

    def report(self, process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
        """Says how many tasks were handled, whenever that changed, until the
        process ends."""
        with self.path.open("r+b") as file, mmap.mmap(file.fileno(), 16) as numbers:
            before = 0
            while process.poll() is None and not os.environ.get("BENCH_QUIET"):
                first, handled = struct.unpack("qq", numbers[:16])
                if handled != before:
                    say(first=first, handled=handled, at=self.now())
                    before = handled
                time.sleep(0.01)
        process.wait()
