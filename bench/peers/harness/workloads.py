"""The workloads of the default run.

Each is a function of a Run and a round; it measures every peer in turn.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import database
from .burning import await_first, await_none_left, burn_noop
from .peers import Failure, Peer, Server, serving
from .run import Metrics, Run, Turn
from .stats import percentile


@contextlib.contextmanager
def trace_fifo() -> Iterator[str]:
    """A FIFO that is always open at both ends, so that nobody waits for it."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "trace")
        os.mkfifo(path)
        handle = os.open(path, os.O_RDWR)
        try:
            yield path
        finally:
            os.close(handle)


def burn_down(run: Run, number: int) -> None:
    for turn in run.turns("burn", number, ()):
        turn.measure(burn_noop)


def latency(run: Run, number: int) -> None:
    for turn in run.turns("latency", number, ()):
        turn.measure(one_by_one)


def one_by_one(turn: Turn) -> Metrics:
    run = turn.run
    with trace_fifo() as trace, turn.empty() as name:
        environment = turn.environment(name, BENCH_TRACE=trace, BENCH_KINDS="noop")
        with serving(turn.peer, environment):
            time.sleep(1)
            said = turn.peer.run(["latency", str(run.latencies), str(run.latency_seconds), "256"],
                                 environment, run.latency_seconds + 30)
    return latency_metrics(said)


def latency_metrics(said: dict[str, Any]) -> Metrics:
    metrics: Metrics = {"samples": len(said["from_return_ns"])}
    if metrics["samples"] == 0:
        raise Failure("no task was started in time")
    for name, values in said.items():
        # The first ones warm up.
        values = values[metrics["samples"] // 10:]
        # A handler may start before its client hears of the commit: that is 0.
        ms = sorted(max(0, value) / 1e6 for value in values)
        prefix = "" if name == "from_return_ns" else "call_"
        metrics |= {f"{prefix}p50": percentile(ms, 50), f"{prefix}p99": percentile(ms, 99)}
    return metrics


def enqueue(run: Run, number: int) -> None:
    """One task per transaction, by the peer's own client; no worker runs."""
    for clients in run.clients:
        for turn in run.turns("enqueue", number):
            turn.measure(add_singly, clients=clients)


def add_singly(turn: Turn, clients: int) -> Metrics:
    return added(turn, "enqueue", str(clients), str(turn.run.seconds), "256")


def bulk(run: Run, number: int) -> None:
    """1,000 tasks per statement, likewise."""
    for turn in run.turns("bulk", number):
        turn.measure(add_in_bulk)


def add_in_bulk(turn: Turn) -> Metrics:
    return added(turn, "fill", "noop", str(turn.run.bulk), "256")


def added(turn: Turn, *command: str) -> Metrics:
    """The client's time does not count as a worker's."""
    with turn.empty() as name:
        costs = database.Costs(name)
        said = turn.peer.run(list(command), turn.environment(name), turn.run.seconds + 60)
        spent = costs.per_task(said["added"], 0)
    return {"rate": said["added"] / said["seconds"], "tasks": said["added"],
            "wal_bytes": spent["wal_bytes"], "server_cpu_us": spent["server_cpu_us"]}


def task_statement(turn: Turn, environment: dict[str, str], which: str = "statement") -> str:
    """The statement that adds one task with the payload $1."""
    sql = turn.peer.about["task_sql"]
    return str(sql.get(which) or sql["statement"]
               or turn.peer.run(["task-sql"], environment)["statement"])


def slow_tenant(run: Run, number: int) -> None:
    """10,000 tasks that take a second, five at a time; then ten that take none.
    Defaults, under which most wait for the limit in vain, in the first round."""
    for turn in run.turns("slow", number, () if number == 1 else ("best",)):
        turn.measure(fast_behind_slow)


def fast_behind_slow(turn: Turn) -> Metrics:
    run, peer = turn.run, turn.peer
    with trace_fifo() as trace, turn.empty() as name:
        turn.tell(name, "fill", "slow", str(run.slow_tasks), "256")
        environment = turn.environment(
            name, BENCH_TRACE=trace, BENCH_KINDS="slow noop", BENCH_SLOW_MS="1000",
            BENCH_SLOW_LIMIT="5")
        with serving(peer, environment) as server:
            await_first(server, 30)
            time.sleep(1)
            return probe(peer, name, environment, server)


def probe(peer: Peer, name: str, environment: dict[str, str], server: Server) -> Metrics:
    """Until the last of ten has started, and until the last is finished."""
    limit = float(os.environ.get("SLOW_LIMIT") or 5)
    try:
        said = peer.run(["probe", "10"], environment, limit)
    except Failure as error:
        server.check()
        if "no answer within" not in str(error):
            raise
        return {"ms": None, "done_ms": None, "over_ms": limit * 1000}
    finished = await_none_left(peer, name, server)
    if finished is None:
        raise Failure("tasks were started but do not get finished")
    return {"ms": said["last_start_ns"] / 1e6, "done_ms": (finished - said["call_ns"]) / 1e6}


ALL = {"burn": burn_down, "latency": latency, "enqueue": enqueue, "bulk": bulk,
       "slow": slow_tenant}
