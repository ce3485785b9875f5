"""Workloads to be asked for by name: other handlers, open loop, chains, nodes."""

import json
import os
import subprocess
import time
from pathlib import Path

from . import database
from .burning import burn, burn_kind
from .peers import CACHE, Failure, serving
from .run import Metrics, Run, Turn, number
from .stats import percentile
from .workloads import task_statement, trace_fifo

SQL_TASKS = int(number("SQL_TASKS", 100_000))
EXEC_TASKS = int(number("EXEC_TASKS", 30_000))
EXEC_SECONDS = number("EXEC_SECONDS", 10)
PROGRAMS = (os.environ.get("PROGRAMS") or "/bin/true /bin/cat").split()
OPEN_SECONDS = number("OPEN_SECONDS", 10)
WIDTHS = [int(width) for width in (os.environ.get("WIDTHS") or "4 16 64 128").split()]
RATES = [int(rate) for rate in (os.environ.get("RATES") or "500 2000 5000").split()]
NODES = [int(nodes) for nodes in (os.environ.get("NODES") or "1 2 4").split()]
FULL = os.environ.get("SIZE") == "full"
ROOTS = int(number("ROOTS", 10_000))
DEPTH = int(number("DEPTH", 100))
CHAIN_BOX = number("CHAIN_BOX", 1800 if FULL else 6)


def sql_handlers(run: Run, round_number: int) -> None:
    """One row updated by each task; the sum says whether each did so once."""
    for turn in run.turns("sql", round_number):
        turn.measure(update_rows)


def update_rows(turn: Turn) -> Metrics:
    with turn.filled("sql", SQL_TASKS) as name:
        metrics = burn_kind(turn, name, SQL_TASKS, "sql")
        effects = int(database.run(name, "SELECT sum(n) FROM counter"))
    if metrics["complete"] and effects < SQL_TASKS:
        raise Failure(f"{effects} effects of {SQL_TASKS} tasks")
    return {**metrics, "effects": effects,
            "once": effects == SQL_TASKS if metrics["complete"] else None}


def spawn_rate(program: str) -> float:
    """The rate of a loop that only starts the program and waits for it, with the
    best number at once."""
    rates = []
    widths = {1, os.cpu_count() or 1, 2 * (os.cpu_count() or 1), 16}
    for at_once in widths:
        said = json.loads(subprocess.run(
            [CACHE / "twtasks" / "spawn", str(EXEC_SECONDS / 2 / len(widths)), str(at_once),
             program], stdout=subprocess.PIPE, check=True).stdout)
        rates.append(said["added"] / said["seconds"])
    return max(rates)


def commands(run: Run, round_number: int) -> None:
    """One process for each task, beside a loop that only starts them."""
    for program in PROGRAMS:
        for turn in run.turns("exec", round_number):
            if program in turn.peer.about.get("programs", PROGRAMS):
                turn.measure(run_program, program=program)


def run_program(turn: Turn, program: str) -> Metrics:
    """The loop runs before and after, as the machine is not always the same."""
    with turn.filled("exec", EXEC_TASKS) as name:
        before = spawn_rate(program)
        metrics = burn_kind(turn, name, EXEC_TASKS, "exec", EXEC_SECONDS, settle=True,
                            BENCH_PROGRAM=program)
        bare = (before + spawn_rate(program)) / 2
    return {**metrics, "spawn": bare, "part": metrics["rate"] / bare}


def read_starts(path: Path) -> dict[int, int]:
    starts: dict[int, int] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        kind, i, at = line.split()
        if kind == "noop":
            starts.setdefault(int(i), int(at))
    return starts


def produce(turn: Turn, environment: dict[str, str], rate: float,
            seconds: float) -> "subprocess.Popen[str]":
    """Adds by SQL at that rate, over eight connections."""
    return subprocess.Popen(
        [CACHE / "twtasks" / "client", "open",
         task_statement(turn, environment, "notifying"), "256", "8", str(rate), str(seconds)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(producer: "subprocess.Popen[str]") -> dict[str, float]:
    out, errors = producer.communicate()
    if producer.returncode != 0:
        raise Failure(errors.strip())
    return json.loads(out)


def settled(path: Path, tasks: int, seconds: float) -> dict[int, int]:
    """The started tasks, once all have started or time is up."""
    until = time.monotonic() + seconds
    while len(starts := read_starts(path)) < tasks and time.monotonic() < until:
        time.sleep(0.2)
    return starts


def open_loop(run: Run, round_number: int) -> None:
    """Tasks at a fixed rate; latency counts from when each was due to be added."""
    for rate in RATES:
        for turn in run.turns("open", round_number):
            turn.measure(at_rate, rate=rate)


def at_rate(turn: Turn, rate: int) -> Metrics:
    with turn.empty() as name, trace_fifo() as fifo:
        trace = Path(fifo).with_name("starts")
        trace.touch()
        environment = turn.environment(name, BENCH_KINDS="noop", BENCH_TRACE=str(trace))
        with serving(turn.peer, environment):
            time.sleep(1)
            said = ended(produce(turn, environment, rate, OPEN_SECONDS))
            starts = settled(trace, int(said["added"]), 5)
            gave_up = time.monotonic_ns()
    return open_metrics(said, starts, gave_up)


def open_metrics(said: dict[str, float], starts: dict[int, int], gave_up: int) -> Metrics:
    """A task that was not started counts with the time it had waited at the end."""
    late = []
    for i in range(int(said["added"])):
        late.append((starts.get(i, gave_up) - said["begin_ns"] - i * 1e9 / said["rate"]) / 1e6)
    if not starts:
        raise Failure("no task was started in time")
    late.sort()
    return {"p50": percentile(late, 50), "p95": percentile(late, 95),
            "p99": percentile(late, 99), "max": late[-1], "added": said["added"],
            "not_started": int(said["added"]) - len(starts)}


def chain(run: Run, round_number: int) -> None:
    """Each task adds the next in a transaction of its own, 2.4 kB of data each."""
    for turn in run.turns("chain", round_number):
        for how in turn.peer.about.get("chains", ["worker"]):
            turn.measure(add_successors, roots=ROOTS, depth=DEPTH, handler=how)


def add_successors(turn: Turn, roots: int, depth: int, handler: str) -> Metrics:
    more = {"BENCH_CHAIN": handler, "BENCH_DEPTH": str(depth)}
    kind = "chain-sql" if handler == "sql" else "chain"
    with turn.empty() as name:
        turn.tell(name, "fill", "chain", str(roots), "2400", **more)
        return burn_kind(turn, name, roots * depth, kind, CHAIN_BOX, **more)


def nodes(run: Run, round_number: int) -> None:
    """Burn-down by one, two and four workers, each as its best setting says."""
    for turn in run.turns("nodes", round_number):
        for count in NODES:
            turn.measure(burn_by, nodes=count)


def burn_by(turn: Turn, nodes: int) -> Metrics:
    with turn.filled("noop", turn.burn_tasks()) as name:
        return burn(turn, name, turn.burn_tasks(), instances=nodes)


def width(run: Run, round_number: int) -> None:
    """Burn-down with so many tasks at once in one worker."""
    for count in WIDTHS:
        for turn in run.turns("width", round_number):
            turn.measure(burn_with, concurrency=count)


def burn_with(turn: Turn, concurrency: int) -> Metrics:
    with turn.filled("noop", turn.burn_tasks()) as name:
        return burn(turn, name, turn.burn_tasks(), BENCH_CONCURRENCY=str(concurrency))


ALL = {"sql": sql_handlers, "exec": commands, "open": open_loop, "chain": chain, "nodes": nodes,
       "width": width}
