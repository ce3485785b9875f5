"""Burn-down: how fast a worker does the tasks that are there already."""

import time

from . import database
from .peers import Failure, Peer, Server, serving
from .run import Metrics, Turn, number

WARM_UP = number("WARM_UP", 2)
SETTLE_LIMIT = 120

Samples = list[tuple[int, int]]


def none_left(peer: Peer, psql: database.Psql) -> bool:
    return psql.ask(f"SELECT EXISTS ({peer.about['left']})") == "f"


def await_none_left(peer: Peer, name: str, server: Server, seconds: float = 60,
                    pause: float = 0.005) -> int | None:
    """When the database was asked the question to which it said: none is left.
    That moment, because the answer can take long where there are many rows.
    None if there still were some after so long."""
    until = time.monotonic() + seconds
    with database.session(name) as psql:
        while time.monotonic() < until:
            asked = time.monotonic_ns()
            if none_left(peer, psql):
                return asked
            server.check()
            time.sleep(pause)
    return None


def await_first(server: Server, seconds: float) -> int:
    until = time.monotonic() + seconds
    while server.first_ns is None:
        server.check()
        if time.monotonic() > until:
            raise Failure(f"no task was started within {seconds:g} s")
        time.sleep(0.005)
    return server.first_ns


def await_settled(turn: Turn, name: str) -> None:
    """Until a worker has warmed up, and a leader has done its first duties."""
    time.sleep(WARM_UP)
    until = time.monotonic() + SETTLE_LIMIT
    busy = turn.peer.about.get("busy")
    while busy and database.run(name, f"SELECT EXISTS ({busy})") == "t":
        if time.monotonic() > until:
            raise Failure(f"the first duties take longer than {SETTLE_LIMIT} s")
        time.sleep(0.05)


def second_half(samples: Samples) -> float:
    """The rate in the second half of the time."""
    (begin, _), (end, done) = samples[0], samples[-1]
    middle, before = next(s for s in samples if 2 * s[0] >= begin + end)
    return (done - before) / max(end - middle, 1) * 1e9


def watch(server: Server, samples: Samples, tasks: int, seconds: float) -> bool:
    """Looks on until all are done, or so long: returns whether all are."""
    until = samples[0][0] + int(seconds * 1e9)
    while samples[-1][1] < tasks and time.monotonic_ns() < until:
        server.check()
        time.sleep(0.005)
        samples.append((time.monotonic_ns(), server.total()))
    return samples[-1][1] >= tasks


def count_left(turn: Turn, name: str) -> int:
    return int(database.run(name, f"SELECT count(*) FROM ({turn.peer.about['left']}) l"))


def burn(turn: Turn, name: str, tasks: int, kind: str = "noop", instances: int = 1,
         box: float = 0, begin: str = "first", **more: str) -> Metrics:
    """The rate of what is already there, from the first start to the last finish
    in the database.  After box seconds it is cut off: then what was done by
    then counts.  The clock may also begin when the worker is "ready", or when it
    has "settled"."""
    costs = database.Costs(name)
    environment = turn.environment(name, BENCH_KINDS=kind, **more)
    with serving(turn.peer, environment, instances) as server:
        samples = [(await_first(server, 30), 0)]
        if begin == "ready":
            samples = [(server.ready_ns, 0)]
        if begin == "settled":
            await_settled(turn, name)
            samples = [(time.monotonic_ns(), server.total())]
        before = samples[0][1]
        if before >= tasks:
            raise Failure("all tasks were done before the clock started: more are needed")
        complete = watch(server, samples, tasks, box or turn.run.box)
        end = await_none_left(turn.peer, name, server) if complete else time.monotonic_ns()
        if end is None:
            raise Failure("tasks were handled but do not get finished")
        done = samples[-1][1]
        if not complete and kind != "chain":
            done = tasks - count_left(turn, name)
        workers_cpu = database.cpu_seconds(server.pids())
    seconds = max(end - samples[0][0], 1) / 1e9
    return {"rate": (done - before) / seconds, "late_rate": second_half(samples),
            "tasks": done, "seconds": seconds, "complete": complete,
            **costs.per_task(done, workers_cpu)}


def burn_noop(turn: Turn) -> Metrics:
    tasks = turn.burn_tasks()
    with turn.filled("noop", tasks) as name:
        return burn(turn, name, tasks, instances=turn.instances)


def burn_unseen(turn: Turn, name: str, tasks: int, kind: str, box: float,
                settle: bool = False, **more: str) -> Metrics:
    """Measures handlers that the driver cannot see, by the times in the database.
    Tasks finished in the first moment do not count, since they began before. The
    database also has the time of the last task. So the loop rarely asks whether a
    task is left: the question would read the dead rows of finished tasks."""
    costs = database.Costs(name)
    begin = "-infinity"
    with serving(turn.peer, turn.environment(name, BENCH_KINDS=kind, **more)) as server:
        if settle:
            await_settled(turn, name)
            begin = database.run(name, "SELECT clock_timestamp()")
        complete = await_none_left(turn.peer, name, server, box, 1) is not None
        found = database.run(name, turn.peer.about["finished"].replace("$1", begin))
        workers_cpu = database.cpu_seconds(server.pids())
    count, later, seconds, late, late_seconds = (float(value) for value in found.split("|"))
    if later == 0 or complete and count != tasks:
        raise Failure(f"{count:g} tasks were finished instead of {tasks}")
    return {"rate": later / seconds, "late_rate": late / max(late_seconds, 1e-6),
            "tasks": int(count), "seconds": seconds, "complete": complete,
            **costs.per_task(int(count), workers_cpu)}


def burn_kind(turn: Turn, name: str, tasks: int, kind: str, box: float = 0,
              settle: bool = False, **more: str) -> Metrics:
    box = box or turn.run.box
    if kind in turn.peer.about.get("unseen", []):
        return burn_unseen(turn, name, tasks, kind, box, settle, **more)
    return burn(turn, name, tasks, kind, turn.instances, box, "settled" if settle else "first",
                **more)
