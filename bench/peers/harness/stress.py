"""Workloads to be asked for by name: what a system is like on a bad day."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import database
from .burning import burn
from .more import FULL, ended, produce, read_starts
from .peers import Failure, Server, serving
from .run import Metrics, Run, Turn, number
from .stats import percentile
from .workloads import trace_fifo

WAITING = int(number("WAITING", 5_000_000 if FULL else 200_000))
FINISHED = int(number("FINISHED", 10_000_000 if FULL else 400_000))
HELD_MINUTES = number("HELD_MINUTES", 10 if FULL else 1)
HELD_RATE = int(number("HELD_RATE", 800))
IDLE_SECONDS = number("IDLE_SECONDS", 60)
KILL_LIMIT = number("KILL_LIMIT", 60)
KILLED_TASKS = 50


def backlog(run: Run, round_number: int) -> None:
    """Burn-down in a database with many waiting and finished tasks, and without."""
    for turn in run.turns("backlog", round_number):
        turn.measure(burn_beside, waiting=WAITING, finished=FINISHED)


def settled_tasks(turn: Turn) -> int:
    """The fast ones still have 10 s of work when they have settled."""
    return 2 * turn.burn_tasks()


def burn_beside(turn: Turn, waiting: int, finished: int) -> Metrics:
    """Both in turn, the one or the other first by the round."""
    makers = [("empty", lambda: burn_settled(turn, turn.filled("noop", settled_tasks(turn)))),
              ("full", lambda: burn_settled(turn, beside_backlog(turn, waiting, finished)))]
    found = {name: make() for name, make in (makers if turn.round % 2 else makers[::-1])}
    return {**found["full"], "empty": found["empty"]["rate"],
            "part": found["full"]["rate"] / found["empty"]["rate"]}


def burn_settled(turn: Turn, made: contextlib.AbstractContextManager[str]) -> Metrics:
    with made as name:
        return burn(turn, name, settled_tasks(turn), instances=turn.instances, begin="settled")


def beside_backlog(turn: Turn, waiting: int,
                   finished: int) -> contextlib.AbstractContextManager[str]:
    """Finished ones only where they are kept."""
    name = f"backlog {turn.peer.name} {turn.setting}"

    def make() -> None:
        turn.tell(name, "fill", "idle", str(waiting), "256", "later")
        if "finished_sql" in turn.peer.about:
            database.run(name, turn.peer.about["finished_sql"].replace("$1", str(finished)))
        turn.tell(name, "fill", "noop", str(settled_tasks(turn)), "256")

    return turn.copy_of(turn.made(name, turn.template(), make))


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
    """A steady rate while somebody holds a snapshot, and before."""
    for turn in run.turns("held", round_number):
        turn.measure(with_held_snapshot, minutes=HELD_MINUTES, rate=HELD_RATE)


def with_held_snapshot(turn: Turn, minutes: float, rate: int) -> Metrics:
    """A tenth of the time goes by before the snapshot is taken."""
    seconds = minutes * 60
    with turn.empty() as name, trace_fifo() as fifo:
        trace = Path(fifo).with_name("starts")
        trace.touch()
        environment = turn.environment(name, BENCH_KINDS="noop", BENCH_TRACE=str(trace))
        with serving(turn.peer, environment), database.session(name) as psql:
            time.sleep(1)
            begin = time.monotonic_ns()
            producer = produce(turn, environment, rate, seconds * 1.1)
            time.sleep(seconds * 0.1)
            taken = time.monotonic_ns()
            dead = []
            with held_snapshot(name):
                while producer.poll() is None:
                    time.sleep(1)
                    dead.append([(time.monotonic_ns() - begin) / 1e9, dead_tuples(psql)])
            said = ended(producer)
            time.sleep(2)
            gave_up = time.monotonic_ns()
        return held_metrics(said, read_starts(trace), (taken, gave_up), dead)


def held_metrics(said: dict[str, float], starts: dict[int, int], times: tuple[int, int],
                 dead: list[list[float]]) -> Metrics:
    """By windows of time, in which a task is from when it was due."""
    taken, gave_up = times
    begin, rate, added = said["begin_ns"], said["rate"], int(said["added"])
    window = max(1.0, round(added / rate / 66))
    late: dict[int, list[float]] = {}
    begun: dict[int, int] = {}
    for i in range(added):
        due = begin + i * 1e9 / rate
        late.setdefault(int(i / rate / window), []).append(
            (starts.get(i, gave_up) - due) / 1e6)
    for at in starts.values():
        index = int((at - begin) / 1e9 / window)
        begun[index] = begun.get(index, 0) + 1
    series = [[round((k + 1) * window, 1), begun.get(k, 0) / window, percentile(sorted(v), 99)]
              for k, v in sorted(late.items()) if (k + 1) * window <= added / rate]
    return {**compared(series, (taken - begin) / 1e9), "dead": dead[-1][1] if dead else 0,
            "not_started": added - len(starts), "series": series, "dead_series": dead}


def compared(series: list[list[float]], held_from: float) -> Metrics:
    """The last third with the snapshot beside the time without; medians of the
    windows, so that one checkpoint does not decide."""
    before = [point for point in series if point[0] <= held_from]
    during = [point for point in series if point[0] > held_from]
    if not before or not during:
        raise Failure("too short to compare")
    last = during[-max(1, len(during) // 3):]

    def middle(points: list[list[float]], column: int) -> float:
        return percentile(sorted(point[column] for point in points), 50)

    return {"rate_before": middle(before, 1), "rate_last": middle(last, 1),
            "p99_before": middle(before, 2), "p99_last": middle(last, 2)}


def log_size() -> int:
    return (Path(os.environ["TWT_CLUSTER"]) / "log").stat().st_size


def statements_since(offset: int) -> int:
    """Lines of log_statement = all."""
    path = Path(os.environ["TWT_CLUSTER"]) / "log"
    with path.open("rb") as log:
        log.seek(offset)
        return sum(b"LOG:  statement: " in line or b"LOG:  execute " in line for line in log)


def idle(run: Run, round_number: int) -> None:
    """Nothing to do for a while; once is enough."""
    if round_number == 1:
        for turn in run.turns("idle", round_number, ()):
            turn.measure(do_nothing, seconds=IDLE_SECONDS)


def passing(seconds: float) -> database.Activity:
    """The server's activity in that time."""
    begin = database.activity([database.postmaster()])
    time.sleep(seconds)
    return database.activity([database.postmaster()]) - begin


def do_nothing(turn: Turn, seconds: float) -> Metrics:
    """The server's own idling is taken off: it is measured without anybody."""
    with turn.empty() as name:
        database.run("postgres", f"ALTER DATABASE \"{name}\" SET log_statement = 'all'")
        alone = passing(seconds / 4)
        environment = turn.environment(name, BENCH_KINDS="noop", BENCH_QUIET="1")
        with serving(turn.peer, environment) as server:
            time.sleep(5)
            offset = log_size()
            worker = database.activity(server.pids())
            served = passing(seconds)
            worker = database.activity(server.pids()) - worker
            statements = statements_since(offset)
    server_ns = max(0.0, served.cpu_ns / seconds - alone.cpu_ns / (seconds / 4))
    return {"statements": statements / seconds, "server_cpu_percent": server_ns / 1e7,
            "worker_cpu_percent": worker.cpu_ns / seconds / 1e7,
            "cpu_percent": server_ns / 1e7 + worker.cpu_ns / seconds / 1e7,
            "wake_ups": worker.sleeps / seconds}


def count_starts(path: Path, after_ns: int) -> int:
    seen = set()
    for line in path.read_text(encoding="ascii").splitlines():
        _, i, at = line.split()
        if int(at) > after_ns:
            seen.add(i)
    return len(seen)


def await_starts(path: Path, after_ns: int, server: Server, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while (found := count_starts(path, after_ns)) < KILLED_TASKS and time.monotonic() < until:
        server.check()
        time.sleep(0.02)
    return found >= KILLED_TASKS


def kill(run: Run, round_number: int) -> None:
    """A worker with 50 tasks running is killed; another one runs them again."""
    for turn in run.turns("kill", round_number):
        for successor in ("started after", "waiting"):
            turn.measure(kill_one, successor=successor)


def kill_one(turn: Turn, successor: str) -> Metrics:
    with turn.empty() as name, trace_fifo() as fifo, contextlib.ExitStack() as stack:
        trace = Path(fifo).with_name("starts")
        trace.touch()
        environment = turn.environment(
            name, BENCH_KINDS="slow noop", BENCH_TRACE=str(trace), BENCH_SLOW_MS="3600000",
            BENCH_SLOW_LIMIT=str(KILLED_TASKS))
        turn.tell(name, "fill", "slow", str(KILLED_TASKS), "256")

        def start() -> Server:
            server = Server(turn.peer, environment)
            stack.callback(server.kill)
            server.await_ready()
            return server

        first = start()
        if not await_starts(trace, 0, first, 30):
            raise Failure(f"{KILLED_TASKS} tasks do not run at once")
        second = start() if successor == "waiting" else None
        killed = time.monotonic_ns()
        first.kill()
        done = await_starts(trace, killed, second or start(), KILL_LIMIT)
        again = (time.monotonic_ns() - killed) / 1e9
        return {"seconds": again if done else None, "over_seconds": None if done else KILL_LIMIT,
                "again": count_starts(trace, killed)}


ALL = {"backlog": backlog, "held": held, "idle": idle, "kill": kill}
