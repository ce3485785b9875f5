"""The four workloads of the default run.

Each is a function of a Run and a round; it measures every peer in turn and
hands over what it found by run.record().
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
from .run import Run
from .stats import percentile

Metrics = dict[str, Any]


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


def await_none_left(peer: Peer, name: str, seconds: float = 60) -> int:
    """When the last task was seen to be finished in the database."""
    until = time.monotonic() + seconds
    with database.session(name) as psql:
        while psql.ask(f"SELECT EXISTS ({peer.about['left']})") != "f":
            if time.monotonic() > until:
                raise Failure("tasks were handled but do not get finished")
            time.sleep(0.005)
        return time.monotonic_ns()


def await_first(server: Server, seconds: float) -> int:
    until = time.monotonic() + seconds
    while server.first_ns is None:
        server.check()
        if time.monotonic() > until:
            raise Failure(f"no task was started within {seconds:g} s")
        time.sleep(0.005)
    return server.first_ns


def burn(run: Run, peer: Peer, setting: str, name: str, tasks: int, instances: int,
         kinds: str = "noop", **more: str) -> Metrics:
    """The rate of what is already there, from the first start to the last finish."""
    environment = run.environment(peer, name, setting, BENCH_KINDS=kinds, **more)
    costs = database.Costs(name)
    with serving(peer, environment, instances) as server:
        first = await_first(server, 30)
        box = first + int(run.box * 1e9)
        while (handled := server.total()) < tasks and time.monotonic_ns() < box:
            server.check()
            time.sleep(0.005)
        complete = handled >= tasks
        end = await_none_left(peer, name) if complete else time.monotonic_ns()
        workers_cpu = database.cpu_seconds(server.pids())
    seconds = max(end - first, 1) / 1e9
    return {"rate": handled / seconds, "tasks": handled, "seconds": seconds,
            "complete": complete, **costs.per_task(handled, workers_cpu)}


def burn_down(run: Run, number: int) -> None:
    for peer, setting in run.turns("burn", number):
        instances = peer.setting(setting).get("instances", 1)
        with run.measuring("burn", peer, setting, number) as record:
            with run.filled(peer, setting, "noop", run.tasks) as name:
                record(burn(run, peer, setting, name, run.tasks, instances))


def latency(run: Run, number: int) -> None:
    for peer, setting in run.turns("latency", number):
        with run.measuring("latency", peer, setting, number) as record, \
                trace_fifo() as trace, run.empty(peer, setting) as name:
            environment = run.environment(peer, name, setting, BENCH_TRACE=trace,
                                          BENCH_KINDS="noop", BENCH_WORKLOAD="latency")
            with serving(peer, environment):
                time.sleep(1)
                said = peer.run(["latency", str(run.latencies), str(run.box * 1.5), "256"],
                                environment, run.box * 1.5 + 30)
            record(latency_metrics(said))


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
    """By the peer's own client; no worker runs."""
    for peer, setting in run.turns("enqueue", number, ["best"]):
        for clients in run.clients:
            with run.measuring("enqueue", peer, setting, number, clients=clients) as record, \
                    run.empty(peer, setting) as name:
                environment = run.environment(peer, name, setting)
                said = peer.run(["enqueue", str(clients), str(run.seconds), "256"],
                                environment, run.seconds + 60)
                record({"rate": said["added"] / said["seconds"], "tasks": said["added"]})
        with run.measuring("bulk", peer, setting, number) as record, \
                run.empty(peer, setting) as name:
            said = peer.run(["fill", "noop", str(run.bulk), "256"],
                            run.environment(peer, name, setting))
            record({"rate": said["added"] / said["seconds"], "tasks": said["added"]})


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
        if line.startswith("tps = ") and "failed" not in result.stderr:
            return float(line.split()[2])
    raise Failure(result.stderr.strip()[-600:])


def task_statement(peer: Peer, environment: dict[str, str], which: str = "statement") -> str:
    """What adds one task whose payload is $1."""
    sql = peer.about["task_sql"]
    return str(sql.get(which) or sql["statement"]
               or peer.run(["task-sql"], environment)["statement"])


def with_payload(statement: str, size: int = 256) -> str:
    head = '{"i":0,"p":""}'
    return statement.replace("$1", "'" + head[:-2] + "x" * (size - len(head)) + "\"}'")


def commits(run: Run, number: int) -> None:
    """Commits of a row of the caller's, without and with a task in each."""
    for clients in run.clients:
        for peer, setting in run.turns("commits", number, ["best"]):
            with run.measuring("commits", peer, setting, number, clients=clients) as record, \
                    run.empty(peer, setting) as name:
                add = with_payload(task_statement(
                    peer, run.environment(peer, name, setting)))
                database.run(name, LEDGER)
                plain = pgbench(name, [ENTRY], clients, run.seconds)
                with_task = pgbench(name, [ENTRY, add], clients, run.seconds)
                record({"rate": with_task, "plain": plain, "part": with_task / plain,
                        **same_row(peer, name, clients, run.seconds, with_task)})


def same_row(peer: Peer, name: str, clients: int, seconds: float, with_task: float) -> Metrics:
    """What the same commit costs when the task's row is a row like any other."""
    row = peer.about["task_sql"].get("row")
    if row is None:
        return {}
    database.run(name, row["prepare"])
    rate = pgbench(name, [ENTRY, with_payload(row["statement"])], clients, seconds)
    return {"row": rate, "part_of_row": with_task / rate}


def slow_tenant(run: Run, number: int) -> None:
    """10,000 tasks that take a second, five at a time; then ten that take none."""
    for peer, setting in run.turns("slow", number):
        with run.measuring("slow", peer, setting, number) as record, \
                trace_fifo() as trace, run.empty(peer, setting) as name:
            environment = run.environment(
                peer, name, setting, BENCH_TRACE=trace, BENCH_KINDS="slow noop",
                BENCH_SLOW_MS="1000", BENCH_SLOW_LIMIT="5")
            peer.run(["fill", "slow", str(run.slow_tasks), "256"],
                     {**environment, "BENCH_TRACE": ""})
            with serving(peer, environment) as server:
                await_first(server, 30)
                time.sleep(1)
                record(probe(peer, environment, run.slow_limit))


def probe(peer: Peer, environment: dict[str, str], seconds: float) -> Metrics:
    try:
        said = peer.run(["probe", "10"], environment, seconds)
    except Failure as error:
        if "no answer within" not in str(error):
            raise
        return {"ms": None, "over_ms": seconds * 1000}
    return {"ms": said["last_start_ns"] / 1e6}



ALL = {"burn": burn_down, "latency": latency, "enqueue": enqueue, "commits": commits,
       "slow": slow_tenant}
