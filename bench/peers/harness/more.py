"""Workloads to be asked for by name: other handlers, open loop, chains, nodes."""

import json
import os
import subprocess
import time
from pathlib import Path

from . import database
from .peers import CACHE, Failure, Peer, serving
from .run import Run, number
from .stats import percentile
from .workloads import Metrics, await_none_left, burn, task_statement, trace_fifo

SQL_TASKS = int(number("SQL_TASKS", 20_000))
EXEC_TASKS = int(number("EXEC_TASKS", 2_000))
OPEN_SECONDS = number("OPEN_SECONDS", 10)
WIDTHS = (os.environ.get("WIDTHS") or "4 16 64 128").split()
RATES = [int(rate) for rate in (os.environ.get("RATES") or "500 2000 5000").split()]
FULL = os.environ.get("SIZE") == "full"
ROOTS = int(number("ROOTS", 10_000 if FULL else 1_000))
DEPTH = int(number("DEPTH", 100 if FULL else 20))
LIMIT = 1800.0 if FULL else 120.0


def burn_unseen(run: Run, peer: Peer, setting: str, name: str, tasks: int, kind: str,
                **more: str) -> Metrics:
    """Of handlers that the driver cannot see: by the times kept in the database."""
    environment = run.environment(peer, name, setting, BENCH_KINDS=kind, **more)
    costs = database.Costs(name)
    with serving(peer, environment) as server:
        await_none_left(peer, name, LIMIT)
        workers_cpu = database.cpu_seconds(server.pids())
    count, first, last = database.run(name, peer.about["finished"]).split("|")
    if int(count) != tasks:
        raise Failure(f"{count} tasks were finished instead of {tasks}")
    seconds = float(last) - float(first)
    return {"rate": tasks / seconds, "tasks": tasks, "seconds": seconds, "complete": True,
            **costs.per_task(tasks, workers_cpu)}


def burn_kind(run: Run, peer: Peer, setting: str, name: str, tasks: int, kind: str,
              **more: str) -> Metrics:
    if kind in peer.about.get("unseen", []):
        return burn_unseen(run, peer, setting, name, tasks, kind, **more)
    instances = peer.setting(setting).get("instances", 1)
    return burn(run, peer, setting, name, tasks, instances, kind, **more)


def sql_handlers(run: Run, round_number: int) -> None:
    """One row updated by each task; the sum says whether each did so once."""
    for peer, setting in run.turns("sql", round_number, ["best"]):
        with run.measuring("sql", peer, setting, round_number) as record, \
                run.filled(peer, setting, "sql", SQL_TASKS) as name:
            metrics = burn_kind(run, peer, setting, name, SQL_TASKS, "sql")
            effects = int(database.run(name, "SELECT sum(n) FROM counter"))
            record({**metrics, "effects": effects,
                    "once": effects == SQL_TASKS if metrics["complete"] else None})


def commands(run: Run, round_number: int) -> None:
    """One process for each task, beside a loop that does nothing but start them."""
    at_once = str(2 * (os.cpu_count() or 1))
    said = subprocess.run([CACHE / "twtasks" / "spawn", str(EXEC_TASKS), at_once, "/bin/true"],
                          stdout=subprocess.PIPE, check=True)
    bare = json.loads(said.stdout)
    for peer, setting in run.turns("exec", round_number, ["best"]):
        with run.measuring("exec", peer, setting, round_number) as record, \
                run.filled(peer, setting, "exec", EXEC_TASKS) as name:
            metrics = burn_kind(run, peer, setting, name, EXEC_TASKS, "exec")
            spawn = bare["added"] / bare["seconds"]
            record({**metrics, "spawn": spawn, "part": metrics["rate"] / spawn})


def read_starts(path: Path) -> dict[int, int]:
    starts: dict[int, int] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        kind, i, at = line.split()
        if kind == "noop":
            starts.setdefault(int(i), int(at))
    return starts


def produce(peer: Peer, environment: dict[str, str], rate: float,
            seconds: float) -> "subprocess.Popen[str]":
    """Adds by SQL at that rate, over eight connections."""
    return subprocess.Popen(
        [CACHE / "twtasks" / "client", "open",
         task_statement(peer, environment, "notifying"), "256", "8", str(rate), str(seconds)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def settled(path: Path, tasks: int, seconds: float) -> dict[int, int]:
    """What was started, once all were or time is up."""
    until = time.monotonic() + seconds
    while len(starts := read_starts(path)) < tasks and time.monotonic() < until:
        time.sleep(0.2)
    return starts


def open_loop(run: Run, round_number: int) -> None:
    """Tasks at a fixed rate; latency counts from when each was due to be added."""
    for rate in RATES:
        for peer, setting in run.turns("open", round_number, ["best"]):
            with run.measuring("open", peer, setting, round_number, rate=rate) as record, \
                    run.empty(peer, setting) as name, trace_fifo() as fifo:
                trace = Path(fifo).with_name("starts")
                trace.touch()
                environment = run.environment(peer, name, setting, BENCH_KINDS="noop",
                                              BENCH_TRACE=str(trace))
                with serving(peer, environment):
                    time.sleep(1)
                    producer = produce(peer, environment, rate, OPEN_SECONDS)
                    out, errors = producer.communicate()
                    if producer.returncode != 0:
                        raise Failure(errors.strip())
                    said = json.loads(out)
                    starts = settled(trace, said["added"], 5)
                record(open_metrics(said, starts, rate))


def open_metrics(said: dict[str, float], starts: dict[int, int], rate: float) -> Metrics:
    late = sorted((at - said["begin_ns"] - i * 1e9 / rate) / 1e6 for i, at in starts.items())
    if not late:
        raise Failure("no task was started in time")
    return {"p50": percentile(late, 50), "p95": percentile(late, 95),
            "p99": percentile(late, 99), "max": late[-1], "added": said["added"],
            "not_started": int(said["added"]) - len(starts)}


def chain(run: Run, round_number: int) -> None:
    """Each task adds the next in a transaction of its own, 2.4 kB of data each."""
    tasks = ROOTS * DEPTH
    for peer, setting in run.turns("chain", round_number, ["best"]):
        for how in peer.about.get("chains", [""]):
            parameters = {"how": how} if how else {}
            with run.measuring("chain", peer, setting, round_number, **parameters) as record, \
                    run.empty(peer, setting) as name:
                more = {"BENCH_CHAIN": how, "BENCH_DEPTH": str(DEPTH)}
                peer.run(["fill", "chain", str(ROOTS), "2400"],
                         run.environment(peer, name, setting, **more))
                box, run.box = run.box, LIMIT
                try:
                    record(burn_kind(run, peer, setting, name, tasks, "chain", **more))
                finally:
                    run.box = box


def nodes(run: Run, round_number: int) -> None:
    """Burn-down by one, two and four workers, each as its best setting says."""
    for peer, setting in run.turns("nodes", round_number, ["best"]):
        for count in (1, 2, 4):
            with run.measuring("nodes", peer, setting, round_number, nodes=count) as record, \
                    run.filled(peer, setting, "noop", run.tasks) as name:
                record(burn(run, peer, setting, name, run.tasks, count))


def width(run: Run, round_number: int) -> None:
    """Burn-down with so many tasks at once in one worker."""
    for count in WIDTHS:
        for peer, setting in run.turns("width", round_number, ["best"]):
            with run.measuring("width", peer, setting, round_number, concurrency=count) as record, \
                    run.filled(peer, setting, "noop", run.tasks) as name:
                record(burn(run, peer, setting, name, run.tasks, 1, BENCH_CONCURRENCY=count))


ALL = {"sql": sql_handlers, "exec": commands, "open": open_loop, "chain": chain, "nodes": nodes,
       "width": width}
