"""Facts about the machine and the server, for the results."""

import datetime
import functools
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import database, more
from .peers import HERE, Peer
from .run import Run

SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes",
            "shared_buffers", "max_wal_size", "autovacuum")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def sync_ms() -> float:
    """The least wait of a commit: 8 kB written and synced."""
    times = []
    with tempfile.TemporaryFile(dir=os.environ["TWT_CLUSTER"]) as file:
        for _ in range(200):
            begin = time.monotonic()
            os.pwrite(file.fileno(), bytes(8192), 0)
            os.fdatasync(file.fileno())
            times.append((time.monotonic() - begin) * 1000)
    return statistics.median(times)


@functools.cache
def machine() -> dict[str, Any]:
    return {"processors": os.cpu_count(), "processor": processor(),
            "kernel": platform.release(), "python": sys.version.split()[0],
            "sync_ms": sync_ms(), "load": os.getloadavg()[0]}


@functools.cache
def server() -> dict[str, str]:
    return {name: database.run("postgres", f"SHOW {name}") for name in SETTINGS}


def sizes(run: Run) -> dict[str, float]:
    return {**{name: getattr(run, name) for name in (
        "rounds", "tasks", "bulk", "latencies", "slow_tasks", "slow_limit", "seconds", "box")},
        "sql_tasks": more.SQL_TASKS, "exec_seconds": more.EXEC_SECONDS, "chain_box": more.CHAIN_BOX,
        "open_seconds": more.OPEN_SECONDS}


def place(peer: dict[str, Any]) -> tuple[bool, int]:
    """Systems stand in the order of order.txt, whichever run they are of."""
    order = (HERE / "order.txt").read_text(encoding="utf-8").split()
    known = peer["name"] in order
    return not known, order.index(peer["name"]) if known else 0


def described(peer: Peer) -> dict[str, Any]:
    return {"name": peer.name, "version": peer.version, "missing": peer.missing,
            **{key: peer.about[key] for key in ("language", "settings", "history", "not")},
            "languages": peer.about.get("languages", {}),
            "task_sql": peer.about.get("task_sql"),
            "published": peer.about.get("published")}


def describe(run: Run) -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "server": server(),
        "commit": os.environ.get("BENCH_COMMIT", "unknown"),
        "sizes": sizes(run),
        "peers": sorted([described(peer) for peer in run.peers] + run.others, key=place),
        "records": run.records,
        "partners": run.partners,
        "missing": run.failures,
    }
