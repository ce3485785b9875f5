"""The workloads of the default run.

Each is a function of a Run and a round; it measures every peer in turn.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import database
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


def burn(turn: Turn, name: str, tasks: int, kind: str = "noop", instances: int = 1,
         box: float = 0, **more: str) -> Metrics:
    """The rate of what is already there, from the first start to the last finish
    in the database.  After box seconds it is cut off: then what was done by
    then counts."""
    costs = database.Costs(name)
    environment = turn.environment(name, BENCH_KINDS=kind, **more)
    with serving(turn.peer, environment, instances) as server:
        first = await_first(server, 30)
        until = first + int((box or turn.run.box) * 1e9)
        while (done := server.total()) < tasks and time.monotonic_ns() < until:
            server.check()
            time.sleep(0.005)
        complete = done >= tasks
        end = await_none_left(turn.peer, name, server) if complete else time.monotonic_ns()
        if end is None:
            raise Failure("tasks were handled but do not get finished")
        if not complete and kind != "chain":
            done = tasks - int(database.run(
                name, f"SELECT count(*) FROM ({turn.peer.about['left']}) l"))
        workers_cpu = database.cpu_seconds(server.pids())
    seconds = max(end - first, 1) / 1e9
    return {"rate": done / seconds, "tasks": done, "seconds": seconds, "complete": complete,
            **costs.per_task(done, workers_cpu)}


def burn_down(run: Run, number: int) -> None:
    for turn in run.turns("burn", number, ()):
        turn.measure(burn_noop)


def burn_noop(turn: Turn) -> Metrics:
    with turn.filled("noop", turn.run.tasks) as name:
        return burn(turn, name, turn.run.tasks, instances=turn.instances)


def latency(run: Run, number: int) -> None:
    for turn in run.turns("latency", number, ()):
        turn.measure(one_by_one)


def one_by_one(turn: Turn) -> Metrics:
    run = turn.run
    with trace_fifo() as trace, turn.empty() as name:
        environment = turn.environment(name, BENCH_TRACE=trace, BENCH_KINDS="noop")
        with serving(turn.peer, environment):
            time.sleep(1)
            said = turn.peer.run(["latency", str(run.latencies), str(run.box), "256"],
                                 environment, run.box + 30)
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
    with turn.empty() as name:
        said = turn.peer.run(list(command), turn.environment(name), turn.run.seconds + 60)
    return {"rate": said["added"] / said["seconds"], "tasks": said["added"]}


LEDGER = """CREATE TABLE ledger (id bigserial PRIMARY KEY, account int NOT NULL,
    amount numeric NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
ENTRY = "INSERT INTO ledger (account, amount) VALUES (7, 12.50)"


def pgbench(name: str, statements: list[str], clients: int, seconds: float) -> float:
    """Transactions per second; each is sent at once and waits for one answer."""
    lines = ["\\startpipeline", "BEGIN;", *(f"{' '.join(s.split())};" for s in statements),
             "COMMIT;", "\\endpipeline"]
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\n".join(lines) + "\n")
        script.flush()
        result = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(2, clients)),
             "-T", str(max(1, round(seconds))), "-f", script.name, name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith("tps = ") and result.returncode == 0 and "failed" not in result.stderr:
            return float(line.split()[2])
    raise Failure(result.stderr.strip()[-600:])


def task_statement(turn: Turn, environment: dict[str, str], which: str = "statement") -> str:
    """The statement that adds one task with the payload $1."""
    sql = turn.peer.about["task_sql"]
    return str(sql.get(which) or sql["statement"]
               or turn.peer.run(["task-sql"], environment)["statement"])


def with_payload(statement: str, size: int = 256) -> str:
    head = '{"i":0,"p":""}'
    return statement.replace("$1", "'" + head[:-2] + "x" * (size - len(head)) + "\"}'")


def commits(run: Run, number: int) -> None:
    """Commits of a row of the caller's, without and with a task in each."""
    for clients in run.clients:
        for turn in run.turns("commits", number):
            turn.measure(with_and_without, clients=clients)


def with_and_without(turn: Turn, clients: int) -> Metrics:
    seconds = turn.run.seconds
    with turn.empty() as name:
        add = with_payload(task_statement(turn, turn.environment(name)))
        database.run(name, LEDGER)
        plain = pgbench(name, [ENTRY], clients, seconds)
        with_task = pgbench(name, [ENTRY, add], clients, seconds)
        found = {"rate": with_task, "plain": plain, "part": with_task / plain}
        if clients == max(turn.run.clients):
            found |= same_row(turn.peer, name, clients, seconds, with_task)
        return found


def same_row(peer: Peer, name: str, clients: int, seconds: float, with_task: float) -> Metrics:
    """The cost of the same commit with an ordinary row in place of the task."""
    row = peer.about["task_sql"].get("row")
    if row is None:
        return {}
    database.run(name, row["prepare"])
    rate = pgbench(name, [ENTRY, with_payload(row["statement"])], clients, seconds)
    return {"row": rate, "part_of_row": with_task / rate}


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
       "commits": commits, "slow": slow_tenant}
