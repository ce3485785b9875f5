"""Measures what simulate.py takes as given, and what it is compared with.

Run by "measure", which starts the server.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness import database, machine, more, peers, workloads
from harness.run import Metrics, Run, Turn, say
from harness.stats import percentile, spread

OUTPUT = Path(os.environ.get("OUTPUT") or Path(__file__).resolve().parent / "measured.json")
CLIENTS = 8
COMMIT_SECONDS = 3.0
OPEN_SECONDS = 8.0
WINDOW_SECONDS = 3.0
KEPT = ("keep", "clear", "delete")
BATCH = 100
BATCHED_RATES = (10_000, 20_000)
PAYLOAD = workloads.with_payload("$1").strip("'")
TOOK = """SELECT p[1], p[2] FROM (SELECT percentile_disc('{0.5, 0.99}'::float8[]) WITHIN GROUP
(ORDER BY extract(epoch FROM state_time - created) * 1000) AS p FROM twtasks.finished_task) f"""

# Sessions of a sidecar have these words in their names.
SESSIONS = ("queue", "control", "grab", "finish")


def disk(syncs: int = 300) -> Metrics:
    """How long 8 kB take to be written and synced, in ms."""
    took = []
    with tempfile.TemporaryFile(dir=os.environ["TWT_CLUSTER"]) as file:
        for _ in range(syncs):
            begin = time.monotonic()
            os.pwrite(file.fileno(), bytes(8192), 0)
            os.fdatasync(file.fileno())
            took.append((time.monotonic() - begin) * 1000)
    took.sort()
    return {f"sync_p{percent}": percentile(took, percent) for percent in (10, 50, 90, 99)}


def commit_cost(name: str, statements: list[str]) -> Metrics:
    """Commits by CLIENTS sessions, and what they cost the server."""
    costs = database.Costs(name)
    rate = workloads.pgbench(name, statements, CLIENTS, COMMIT_SECONDS)
    found = costs.per_task(round(rate * COMMIT_SECONDS), 0)
    return {"rate": rate, "server_us": found["server_cpu_us"], "wal_bytes": found["wal_bytes"]}


def adding(turn: Turn) -> Iterator[tuple[str, Metrics]]:
    """Commits of a row, without a task and with one; then tasks by the thousand."""
    with turn.empty() as name:
        add = workloads.with_payload(workloads.task_statement(turn, turn.environment(name)))
        database.run(name, workloads.LEDGER)
        yield "commit", commit_cost(name, [workloads.ENTRY])
        yield "commit with a task", commit_cost(name, [workloads.ENTRY, add])
    with turn.empty() as name:
        costs = database.Costs(name)
        turn.tell(name, "fill", "noop", str(turn.run.tasks), "256")
        found = costs.per_task(turn.run.tasks, 0)
    yield "bulk", {"server_us": found["server_cpu_us"], "wal_bytes": found["wal_bytes"]}


def size(name: str) -> int:
    return int(database.run(name, "SELECT pg_total_relation_size('twtasks.task') + ("
                            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits "
                            "WHERE inhparent = 'twtasks.finished_task'::regclass)"))


def running(turn: Turn, kept: str) -> Metrics:
    """A burn-down after which so much of each task stays."""
    with turn.filled("noop", turn.run.tasks) as name:
        database.run(name, f"SELECT twtasks.configure_type('noop', when_done => '{kept}')")
        before = size(name)
        found = workloads.burn(turn, name, turn.run.tasks)
        grown = size(name) - before
    return {"rate": found["rate"], "commits": found["commits"], "wal_bytes": found["wal_bytes"],
            "server_us": found["server_cpu_us"], "sidecar_us": found["worker_cpu_us"],
            "kept_bytes": grown / turn.run.tasks}


def sessions(name: str) -> dict[str, list[int]]:
    """Process ids of the sidecar's sessions and of the others, by their names."""
    found: dict[str, list[int]] = {}
    for line in database.run(name, "SELECT pid, application_name FROM pg_stat_activity WHERE "
                             "datname = current_database() AND pid <> pg_backend_pid()"
                             ).splitlines():
        pid, _, application = line.partition("|")
        role = next((r for r in SESSIONS if application == f"twtasksd {r}"), "adders")
        found.setdefault(role, []).append(int(pid))
    return found


def cpu_ns(pids: dict[str, list[int]]) -> dict[str, int]:
    return {role: database.activity(those).cpu_ns for role, those in pids.items()}


def commits_of(name: str) -> int:
    return int(database.run(name, "SELECT xact_commit FROM pg_stat_database "
                            "WHERE datname = current_database()"))


def per_task(name: str, roots: dict[str, list[int]], rate: int) -> Metrics:
    """Processor time of each process in the middle of the run, by tasks added."""
    committed, begin, before = commits_of(name), time.monotonic(), cpu_ns(roots)
    time.sleep(WINDOW_SECONDS)
    after, tasks = cpu_ns(roots), (time.monotonic() - begin) * rate
    commits = commits_of(name) - committed
    return {"commits": commits / tasks,
            **{f"{role}_us": (after[role] - before[role]) / 1e3 / tasks for role in roots}}


def below(pids: list[int]) -> list[int]:
    """The sidecars that these drivers started; a driver costs time of its own."""
    listed = subprocess.run(["pgrep", "-P", ",".join(map(str, pids))],
                            stdout=subprocess.PIPE, text=True, check=True)
    return [int(pid) for pid in listed.stdout.split()]


def at_rate(turn: Turn, rate: int) -> Metrics:
    """Single adds at a rate: start latency, and where the time goes."""
    with turn.empty() as name, workloads.trace_fifo() as fifo:
        trace = Path(fifo).with_name("starts")
        trace.touch()
        environment = turn.environment(name, BENCH_KINDS="noop", BENCH_TRACE=str(trace))
        with workloads.serving(turn.peer, environment) as server:
            time.sleep(1)
            idle = sum(len(pids) for pids in sessions(name).values())
            producer = more.produce(turn, environment, rate, OPEN_SECONDS)
            time.sleep(2)
            roots = {**sessions(name), "sidecar": below(server.pids()), "client": [producer.pid]}
            costs = per_task(name, roots, rate)
            said = more.ended(producer)
            starts = more.settled(trace, int(said["added"]), 5)
            gave_up = time.monotonic_ns()
    busy = sum(len(roots.get(role, [])) for role in SESSIONS)
    return {**more.open_metrics(said, starts, gave_up), **costs, **disk(),
            "idle_connections": idle, "connections": busy}


def in_batches(turn: Turn, rate: int) -> Metrics:
    """BATCH tasks in each commit, at a rate: from the add to the finish, by the
    times in the database, and where the time goes."""
    statement = ("SELECT count(*) FROM twtasks.add_tasks('noop', "
                 f"array_fill('{PAYLOAD}'::jsonb, ARRAY[{BATCH}]));")
    with turn.empty() as name, tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(statement)
        script.flush()
        with workloads.serving(turn.peer, turn.environment(name, BENCH_KINDS="noop")) as server:
            time.sleep(1)
            adder = subprocess.Popen(
                ["pgbench", "-n", "-M", "prepared", "-c", str(CLIENTS), "-R", str(rate / BATCH),
                 "-T", str(round(OPEN_SECONDS)), "-f", script.name, name],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(2)
            roots = {**sessions(name), "sidecar": below(server.pids())}
            costs = per_task(name, roots, rate)
            adder.wait()
            workloads.await_none_left(turn.peer, name, server)
            took = database.run(name, TOOK).split("|")
    return {**costs, "done_p50": float(took[0]), "done_p99": float(took[1]), **disk()}


def measure(run: Run, turn: Turn) -> Iterator[tuple[str, Metrics]]:
    yield from adding(turn)
    for kept in KEPT:
        yield f"run, {kept}", running(turn, kept)
    yield "one by one", {**disk(), **workloads.one_by_one(turn)}
    for rate in more.RATES:
        yield f"open, {rate}/s", at_rate(turn, rate)
    for rate in BATCHED_RATES:
        yield f"batches, {rate}/s", in_batches(turn, rate)


def main() -> None:
    run = Run(peers.load(["twtasks"]))
    found: dict[str, list[Metrics]] = {}
    facts = {"machine": machine.machine(), "server": machine.server()}
    for number in range(1, run.rounds + 1):
        say(f"round {number} of {run.rounds}")
        turn = next(run.turns("growing", number))
        for what, metrics in measure(run, turn):
            say(f"  {what}: {', '.join(f'{k} {v:.4g}' for k, v in metrics.items())}")
            found.setdefault(what, []).append(metrics)
    figures = {what: {name: spread([m[name] for m in rounds if name in m])
                      for name in rounds[0]} for what, rounds in found.items()}
    described = machine.describe(run)
    OUTPUT.write_text(json.dumps({
        **{key: described[key] for key in ("date", "commit")}, **facts,
        "sizes": {"tasks": run.tasks, "rounds": run.rounds, "clients": CLIENTS},
        "figures": figures}, indent=1) + "\n", encoding="utf-8")
    say(f"written: {OUTPUT}")


main()
