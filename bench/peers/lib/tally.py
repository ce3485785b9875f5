"""The counts of workers, for the drivers that start them: see worker.c."""

import json
import os
import struct
import subprocess
import time
from pathlib import Path


def say(**values: object) -> None:
    print(json.dumps(values), flush=True)


class Tally:
    """Two 64-bit numbers in a file that all workers share: when the first task was
    seen (0: none yet) and how many were answered.  Workers that cannot share memory
    write a file of their own, whose name begins like that."""

    now = staticmethod(time.monotonic_ns)

    def __init__(self, directory: Path) -> None:
        self.path = directory / "tally"
        self.path.write_bytes(bytes(16))

    def read(self) -> tuple[int, int]:
        files = [path.read_bytes() for path in self.path.parent.glob("tally*")]
        counts = [struct.unpack("qq", numbers) for numbers in files if len(numbers) == 16]
        return min((first for first, _ in counts if first), default=0), sum(n for _, n in counts)

    def report(self, process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
        """Says how many tasks were handled, whenever that changed, until the
        process ends."""
        before = 0
        while process.poll() is None and not os.environ.get("BENCH_QUIET"):
            first, handled = self.read()
            if handled != before:
                say(first=first, handled=handled, at=self.now())
                before = handled
            time.sleep(0.01)
        process.wait()
