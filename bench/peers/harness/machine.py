"""What the results must say of where and how they were made."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from . import database
from .run import Run

SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes",
            "shared_buffers", "max_wal_size", "autovacuum")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def describe(run: Run) -> dict[str, Any]:
    server = {name: database.run("postgres", f"SHOW {name}") for name in SETTINGS}
    return {
        "machine": {"processors": os.cpu_count(), "processor": processor(),
                    "kernel": platform.release(), "python": sys.version.split()[0]},
        "server": server,
        "commit": os.environ.get("BENCH_COMMIT", "unknown"),
        "sizes": {name: getattr(run, name) for name in (
            "rounds", "tasks", "bulk", "latencies", "slow_tasks", "slow_limit", "seconds", "box")},
        "peers": [{"name": peer.name, "version": peer.version, "missing": peer.missing,
                   **{key: peer.about[key] for key in ("language", "settings", "history", "not")},
                   "task_sql": peer.about.get("task_sql"),
                   "published": peer.about.get("published")} for peer in run.peers],
        "records": run.records,
        "missing": run.failures,
    }
