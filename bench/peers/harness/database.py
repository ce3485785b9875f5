"""The private cluster: databases, and what they cost."""

import contextlib
import dataclasses
import mmap
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


class Psql:
    """One session, kept open, that answers statements with single values."""

    def __init__(self, database: str) -> None:
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, sql: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{sql.strip().rstrip(';')};\n\\echo .\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != ".\n":
            if not line:
                raise RuntimeError(f"the database did not answer: {sql}")
            lines.append(line.rstrip("\n"))
        return "\n".join(lines)

    def close(self) -> None:
        self.process.communicate()


@contextlib.contextmanager
def session(database: str) -> Iterator[Psql]:
    psql = Psql(database)
    try:
        yield psql
    finally:
        psql.close()


def run(database: str, *statements: str) -> str:
    arguments = [word for statement in statements for word in ("-c", statement)]
    return subprocess.run(
        ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", database, *arguments],
        stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def exists(database: str) -> bool:
    return run("postgres", f"SELECT count(*) FROM pg_database WHERE datname = '{database}'") == "1"


def create(database: str, template: str = "template0") -> None:
    run("postgres", f'CREATE DATABASE "{database}" TEMPLATE "{template}" STRATEGY file_copy')


def drop(database: str) -> None:
    run("postgres", f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')


@contextlib.contextmanager
def fresh(template: str, first: str | None = None) -> Iterator[str]:
    """A copy of the template, gone afterwards; the server's buffers settled.
    first is a statement that makes a copy fit for use."""
    create("bench", template)
    try:
        if first:
            run("bench", first)
        run("postgres", "CHECKPOINT")
        yield "bench"
    finally:
        drop("bench")


def touch_memory() -> None:
    """The host of a virtual machine may have taken back memory that nobody used.
    The first touch of a page then costs 10 us.  This takes as much memory as a
    burn-down will need, so that no system pays for that."""
    part = bytes(2**24)
    parts = int(float(os.environ.get("MEMORY_GB") or 3) * 2**30) // len(part)
    if parts > 0:
        with mmap.mmap(-1, parts * len(part)) as memory:
            for _ in range(parts):
                memory.write(part)


def _stat(stat: str) -> tuple[int, int]:
    """Parent's process id, and own time with that of the children waited for."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[1]), sum(int(fields[i]) for i in (11, 12, 13, 14))


def _tree(roots: list[int]) -> dict[int, int]:
    """Ticks of these processes and of all below them."""
    parent, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid = int(path.parent.name)
            parent[pid], ticks[pid] = _stat(path.read_text(encoding="latin1"))
    found = {}
    for pid, value in ticks.items():
        above: int | None = pid
        while above and above not in roots:
            above = parent.get(above)
        if above:
            found[pid] = value
    return found


def cpu_seconds(roots: list[int]) -> float:
    """CPU time of these processes, of all below them and of those that ended."""
    return sum(_tree(roots).values()) / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Activity:
    """CPU time of living processes, to the nanosecond, and how often they went to
    sleep, which is how often something woke them."""

    cpu_ns: int = 0
    sleeps: int = 0

    def __sub__(self, other: "Activity") -> "Activity":
        return Activity(self.cpu_ns - other.cpu_ns, self.sleeps - other.sleeps)


def activity(roots: list[int]) -> Activity:
    found = Activity()
    for pid in _tree(roots):
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(OSError):
                found.cpu_ns += int((task / "schedstat").read_text(encoding="ascii").split()[0])
                status = (task / "status").read_text(encoding="latin1")
                found.sleeps += int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return found


def postmaster() -> int:
    path = Path(os.environ["TWT_CLUSTER"]) / "data" / "postmaster.pid"
    return int(path.read_text(encoding="utf-8").split("\n", 1)[0])


class Costs:
    """The server's work since this was made; complete when its clients are gone."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.begin = self._read()

    def _read(self) -> tuple[float, ...]:
        wal, commits = run(
            self.database, "SELECT pg_current_wal_insert_lsn() - '0/0', "
            "xact_commit FROM pg_stat_database WHERE datname = current_database()").split("|")
        return float(wal), float(commits), cpu_seconds([postmaster()])

    def per_task(self, tasks: int, workers_cpu: float) -> dict[str, float]:
        wal, commits, server = (
            (b - a) / max(1, tasks) for a, b in zip(self.begin, self._read(), strict=True))
        server_us, worker_us = server * 1e6, workers_cpu * 1e6 / max(1, tasks)
        return {"wal_bytes": round(wal), "commits": commits, "server_cpu_us": server_us,
                "worker_cpu_us": worker_us, "cpu_us": server_us + worker_us}
