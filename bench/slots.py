"""How two sidecars share a limit of the whole cluster: called by bench/slots.

Each worker appends the moments at which a task began and ended to a file of
its node.  The moments are of one clock, so those of both nodes compare.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from harness import database

WORKER = Path(__file__).with_name("slots_worker.py")
NODES = ("a", "b")
MAX = 4
DATABASE = "bench"
Span = tuple[float, float]


def sql(*statements: str) -> str:
    return database.run(DATABASE, *statements)


def write_config(directory: Path, node: str, ms: float) -> Path:
    path = directory / f"{node}.yaml"
    path.write_text(json.dumps({
        "postgres": f"host={os.environ['PGHOST']} user=postgres dbname={DATABASE}",
        "node": node, "buckets": ["default", node],
        "handlers": [{"types": ["T", "T|*"], "processes": 8, "concurrency": 400, "prefetch": 50, "worker": [
            sys.executable, str(WORKER), str(directory / f"{node}.spans"), str(ms)]}],
    }), encoding="utf-8")
    path.chmod(0o600)
    return path


@contextmanager
def sidecars(directory: Path, ms: float) -> Iterator[None]:
    running = []
    for node in NODES:
        (directory / f"{node}.spans").unlink(missing_ok=True)
        with (directory / f"{node}.log").open("w", encoding="utf-8") as log:
            running.append(subprocess.Popen(
                [os.environ["BENCH_SIDECAR"], "--config", str(write_config(directory, node, ms))],
                stderr=log))
    try:
        wait_for("SELECT count(*) = 2 FROM twtasks.node WHERE ended IS NULL")
        yield
    finally:
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        sql("UPDATE twtasks.node SET ended = clock_timestamp() WHERE ended IS NULL",
            "TRUNCATE twtasks.task, twtasks.finished_task, twtasks.slot_use")


def wait_for(condition: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while sql(condition) != "t":
        if time.monotonic() > until:
            sys.exit(f"waited in vain: {condition}")
        time.sleep(0.05)


def add(node: str, n: int, what: str = "'T'") -> None:
    sql(f"""SELECT count(*) FROM twtasks.add_tasks(ARRAY(
        SELECT ROW({what}, NULL, NULL, NULL, NULL, NULL, NULL, '{node}', NULL, NULL,
            NULL)::twtasks.new_task FROM generate_series(1, {n}) i))""")


def spans(directory: Path, node: str) -> list[Span]:
    lines = (directory / f"{node}.spans").read_text(encoding="utf-8").splitlines()
    return sorted((float(a), float(b)) for a, b in (line.split() for line in lines))


def longest_without(own: list[Span], since: float, until: float) -> float:
    """The longest time in which a node ran nothing."""
    longest, busy_until = 0.0, since
    for began, ended in own:
        longest = max(longest, began - busy_until)
        busy_until = max(busy_until, ended)
    return max(longest, until - busy_until)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class Costs:
    """Statements and CPU time of the server, per second, since this was made."""

    def __init__(self) -> None:
        self.began, self.then = time.monotonic(), self.read()

    def read(self) -> tuple[float, float]:
        time.sleep(1.1)         # the server's counters are a second late at most
        commits = sql("SELECT pg_stat_get_db_xact_commit(oid) + pg_stat_get_db_xact_rollback(oid) "
                      "FROM pg_database WHERE datname = current_database()")
        return float(commits), database.cpu_seconds([database.postmaster()])

    def report(self) -> str:
        now = self.read()
        took = time.monotonic() - self.began
        statements, cpu = ((b - a) / took for a, b in zip(self.then, now, strict=True))
        return f"{statements:7.1f} statements/s  {cpu * 1000:6.1f} ms CPU/s"


def backlog(directory: Path, seconds: float, ms: float, slots: int) -> None:
    """Both have more to do than the limit allows."""
    sql(f"SELECT twtasks.configure_limit('T', {slots}, 'cluster')")
    with sidecars(directory, ms):
        for node in NODES:
            add(node, int(seconds * 1000 / ms * slots * 1.2) + 50)
        wait_for("SELECT count(*) > 0 FROM twtasks.task WHERE status = 'PROCESSING'")
        costs = Costs()
        began = time.monotonic()
        time.sleep(seconds)
        until = time.monotonic()
        cost = costs.report()
        of = {node: [s for s in spans(directory, node) if s[0] < until and s[1] > began]
              for node in NODES}
    everything = sorted(s for own in of.values() for s in own)
    starts, ends = [s[0] for s in everything], sorted(s[1] for s in everything)
    handed = [(start - end) * 1000 for start, end in zip(starts[slots:], ends, strict=False)]
    used = sum(min(b, until) - max(a, began) for a, b in everything) / (until - began) / slots
    share = len(of["a"]) / max(1, len(everything))
    without = max(longest_without(own, began, until) for own in of.values())
    print(f"limit {slots}, tasks of {ms:g} ms: share {share * 100:5.1f} %  "
          f"longest without {without * 1000:7.1f} ms  used {used * 100:5.1f} %  "
          f"hand-over p50 {median(handed):6.2f} p99 {percentile(handed, 0.99):6.2f} ms  {cost}",
          flush=True)


def alone(directory: Path, rounds: int) -> None:
    """One waits for the only slot of another that has nothing more to do."""
    handed = []
    sql("SELECT twtasks.configure_limit('T', 1, 'cluster')")
    with sidecars(directory, 500):
        for number in range(rounds):
            first, second = NODES[number % 2], NODES[1 - number % 2]
            add(first, 1)
            wait_for("SELECT count(*) = 0 FROM twtasks.task WHERE status = 'SUBMITTED'")
            add(second, 1)
            added = time.monotonic()
            wait_for("SELECT count(*) = 0 FROM twtasks.task WHERE status IN ('PROCESSING', 'SUBMITTED')")
            ended = spans(directory, first)[-1][1]
            if added < ended:
                handed.append((spans(directory, second)[-1][0] - ended) * 1000)
    print(f"limit 1, nothing more to do at the one that frees: "
          f"hand-over p50 {median(handed):6.2f} p90 {percentile(handed, 0.9):6.2f} "
          f"most {max(handed):6.2f} ms", flush=True)


def refused(directory: Path, seconds: float, keys: int) -> None:
    """One holds all slots of so many keys, the other waits for each of them."""
    sql("SELECT twtasks.drop_limit('T')", "SELECT twtasks.configure_limit('T|*', 1, 'cluster')")
    with sidecars(directory, 3600000):
        add("a", keys, "'T|' || i")
        wait_for(f"SELECT count(*) = {keys} FROM twtasks.task WHERE status = 'PROCESSING'")
        costs = Costs()
        time.sleep(seconds)
        print(f"idle, {keys} keys held: {costs.report()}", flush=True)
        add("b", keys, "'T|' || i")
        costs = Costs()
        time.sleep(seconds)
        print(f"refused for {keys} keys: {costs.report()}", flush=True)
    sql("SELECT twtasks.drop_limit('T|*')")


def main() -> None:
    directory = Path(os.environ["BENCH_DIRECTORY"])
    seconds = float(os.environ.get("SECONDS_EACH", "60"))
    database.create(DATABASE)
    sql("CREATE EXTENSION twtasks", "SELECT twtasks_internal.make_partitions()",
        *(f"SELECT twtasks.configure_bucket('{node}')" for node in NODES))
    for slots, ms in ((MAX, 20), (MAX, 500), (3, 20), (1, 20)):
        backlog(directory, seconds, ms, slots)
    alone(directory, int(os.environ.get("ROUNDS", "40")))
    for keys in (1, 300):
        refused(directory, seconds / 3, keys)


main()
