"""Workloads to be asked for by name: what a system is like on a bad day."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import database
from .more import FULL, produce, read_starts
from .peers import Failure, Peer, Server, serving
from .run import Run, number
from .stats import percentile
from .workloads import Metrics, burn, trace_fifo

WAITING = int(number("WAITING", 5_000_000 if FULL else 100_000))
FINISHED = int(number("FINISHED", 10_000_000 if FULL else 200_000))
HELD_MINUTES = number("HELD_MINUTES", 10 if FULL else 1)
HELD_RATE = int(number("HELD_RATE", 800))
IDLE_SECONDS = number("IDLE_SECONDS", 60)
KILL_LIMIT = number("KILL_LIMIT", 60)


def backlog(run: Run, round_number: int) -> None:
    """Burn-down in a database with many waiting and finished tasks, and without."""
    for peer, setting in run.turns("backlog", round_number, ["best"]):
        with run.measuring("backlog", peer, setting, round_number,
                           waiting=WAITING, finished=FINISHED) as record:
            instances = peer.setting(setting).get("instances", 1)
            with run.filled(peer, setting, "noop", run.tasks) as name:
                empty = burn(run, peer, setting, name, run.tasks, instances)
            with database.fresh(with_backlog(run, peer, setting)) as name:
                full = burn(run, peer, setting, name, run.tasks, instances)
            record({**full, "empty": empty["rate"], "part": full["rate"] / empty["rate"]})


def with_backlog(run: Run, peer: Peer, setting: str) -> str:
    name = f"backlog {peer.name} {setting}"
    if not database.exists(name):
        database.create(name, run.template(peer, setting))
        environment = run.environment(peer, name, setting)
        peer.run(["fill", "idle", str(WAITING), "256", "later"], environment, 3600)
        if "finished_sql" in peer.about:
            database.run(name, peer.about["finished_sql"].replace("$1", str(FINISHED)))
        run.fill(peer, setting, name, "noop", run.tasks, 256)
        database.run(name, "VACUUM ANALYZE")
    return name


@contextlib.contextmanager
def held_snapshot(name: str) -> Iterator[None]:
    with database.session(name) as psql:
        psql.ask("BEGIN ISOLATION LEVEL REPEATABLE READ")
        psql.ask("SELECT count(*) FROM pg_class")
        yield
        psql.ask("COMMIT")


def dead_tuples(psql: database.Psql) -> int:
    return int(psql.ask("SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables"))


def held(run: Run, round_number: int) -> None:
    """A steady rate while somebody holds a snapshot."""
    for peer, setting in run.turns("held", round_number, ["best"]):
        with run.measuring("held", peer, setting, round_number, minutes=HELD_MINUTES,
                           rate=HELD_RATE) as record, \
                run.empty(peer, setting) as name, trace_fifo() as fifo:
            trace = Path(fifo).with_name("starts")
            trace.touch()
            environment = run.environment(peer, name, setting, BENCH_KINDS="noop",
                                          BENCH_TRACE=str(trace))
            with serving(peer, environment), held_snapshot(name), \
                    database.session(name) as psql:
                begin = time.monotonic_ns()
                producer = produce(peer, environment, HELD_RATE, HELD_MINUTES * 60)
                dead = []
                while producer.poll() is None:
                    time.sleep(1)
                    dead.append([(time.monotonic_ns() - begin) / 1e9, dead_tuples(psql)])
                out, errors = producer.communicate()
                if producer.returncode != 0:
                    raise Failure(errors.strip())
                time.sleep(2)
            record(held_metrics(json.loads(out)["begin_ns"], read_starts(trace), dead))


def held_metrics(begin: int, starts: dict[int, int], dead: list[list[float]]) -> Metrics:
    """The last third beside the first; the rest as a series for the plot."""
    window = max(1.0, HELD_MINUTES * 60 / 60)
    buckets: dict[int, list[float]] = {}
    for i, at in starts.items():
        late = (at - begin - i * 1e9 / HELD_RATE) / 1e6
        buckets.setdefault(int((at - begin) / 1e9 / window), []).append(late)
    series = [[round((k + 1) * window, 1), len(v) / window, percentile(sorted(v), 99)]
              for k, v in sorted(buckets.items())]
    whole = [point for point in series if point[0] <= HELD_MINUTES * 60]
    third = max(1, len(whole) // 3)

    def mean(points: list[list[float]], column: int) -> float:
        return sum(point[column] for point in points) / len(points)

    return {"rate_first": mean(whole[:third], 1), "rate_last": mean(whole[-third:], 1),
            "p99_first": mean(whole[:third], 2), "p99_last": mean(whole[-third:], 2),
            "dead": dead[-1][1] if dead else 0, "series": series, "dead_series": dead}


def log_size() -> int:
    return (Path(os.environ["TWT_CLUSTER"]) / "log").stat().st_size


def statements_since(offset: int) -> int:
    """Lines of log_statement = all."""
    path = Path(os.environ["TWT_CLUSTER"]) / "log"
    with path.open("rb") as log:
        log.seek(offset)
        return sum(b"LOG:  statement: " in line or b"LOG:  execute " in line for line in log)


def idle(run: Run, round_number: int) -> None:
    """Nothing to do for a while."""
    for peer, setting in run.turns("idle", round_number):
        with run.measuring("idle", peer, setting, round_number) as record, \
                run.empty(peer, setting) as name:
            database.run("postgres", f"ALTER DATABASE \"{name}\" SET log_statement = 'all'")
            environment = run.environment(peer, name, setting, BENCH_KINDS="noop",
                                          BENCH_QUIET="1")
            with serving(peer, environment) as server:
                time.sleep(5)
                offset = log_size()
                server_cpu = database.cpu_seconds([database.postmaster()])
                workers_cpu = database.cpu_seconds(server.pids())
                time.sleep(IDLE_SECONDS)
                record({
                    "statements": statements_since(offset) / IDLE_SECONDS,
                    "server_cpu_percent": 100 * (database.cpu_seconds(
                        [database.postmaster()]) - server_cpu) / IDLE_SECONDS,
                    "worker_cpu_percent": 100 * (database.cpu_seconds(
                        server.pids()) - workers_cpu) / IDLE_SECONDS})


def count_starts(path: Path, after_ns: int) -> int:
    seen = set()
    for line in path.read_text(encoding="ascii").splitlines():
        _, i, at = line.split()
        if int(at) > after_ns:
            seen.add(i)
    return len(seen)


def await_starts(path: Path, after_ns: int, count: int, server: Server,
                 seconds: float) -> bool:
    until = time.monotonic() + seconds
    while (found := count_starts(path, after_ns)) < count and time.monotonic() < until:
        server.check()
        time.sleep(0.05)
    return found >= count


def kill(run: Run, round_number: int) -> None:
    """A worker with 50 tasks running is killed; another one takes over."""
    for peer, setting in run.turns("kill", round_number, ["best"]):
        with run.measuring("kill", peer, setting, round_number) as record, \
                run.empty(peer, setting) as name, trace_fifo() as fifo:
            trace = Path(fifo).with_name("starts")
            trace.touch()
            environment = run.environment(
                peer, name, setting, BENCH_KINDS="slow noop", BENCH_TRACE=str(trace),
                BENCH_SLOW_MS="3600000", BENCH_SLOW_LIMIT="50")
            peer.run(["fill", "slow", "50", "256"], {**environment, "BENCH_TRACE": ""})
            first = Server(peer, environment)
            try:
                first.await_ready()
                if not await_starts(trace, 0, 50, first, 30):
                    raise Failure("50 tasks do not run at once")
            finally:
                first.kill()
            killed = time.monotonic_ns()
            with serving(peer, environment) as second:
                done = await_starts(trace, killed, 50, second, KILL_LIMIT)
                again = (time.monotonic_ns() - killed) / 1e9
                record({"seconds": again if done else None,
                        "over_seconds": None if done else KILL_LIMIT,
                        "again": count_starts(trace, killed)})
                second.kill()


ALL = {"backlog": backlog, "held": held, "idle": idle, "kill": kill}
