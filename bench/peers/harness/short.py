"""The short measurement: ours alone, beside what pgbench does on the same server."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import commits, database, more, stress, workloads
from .run import Run, say
from .stats import key, spread
from .svg import short
from .targets import TARGETS, Found, percent

# In every round, and in the first alone.
EACH = {name: (workloads.ALL | commits.ALL | more.ALL)[name]
        for name in ("burn", "latency", "bulk", "commits", "first", "sql", "exec")}
ONCE = {name: (workloads.ALL | stress.ALL)[name] for name in ("slow", "idle", "kill")}

TABLES = """CREATE TABLE plain (id bigserial PRIMARY KEY, data jsonb);
CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i"""
ROW = commits.with_payload("INSERT INTO plain (data) VALUES ($1)")
ROWS = commits.with_payload("INSERT INTO plain (data) SELECT $1::jsonb"
                              " FROM generate_series(1, 1000)")
YARD_SECONDS = 2
UPDATES = [f"UPDATE counter SET n = n + 1 WHERE id = {i}" for i in range(100)]


def yardsticks(run: Run, number: int) -> None:
    """The server without a queue: a row per commit, rows by the thousand, a hundred
    updates of one row each in a transaction."""
    database.create("yard")
    try:
        database.run("yard", *TABLES.split(";"))
        found = {
            "commits": commits.pgbench("yard", [ROW], 1, YARD_SECONDS),
            "rows": 1000 * commits.pgbench("yard", [ROWS], 1, YARD_SECONDS),
            "updates": 100 * commits.pgbench("yard", UPDATES, 1, YARD_SECONDS)}
    finally:
        database.drop("yard")
    run.records.append({"round": number, "workload": "yard", "peer": "pgbench", "setting": "-",
                        "parameters": {}, "metrics": found})


Metrics = dict[str, Any]
Ratio = Callable[[Metrics, Metrics], float]


@dataclasses.dataclass
class Line:
    """One figure.  ratio makes of ours and of pgbench's figures, in the same
    round, what depends less on the machine; goal is a target's beginning."""

    workload: str
    metric: str
    what: str
    unit: str
    goal: str = ""
    ratio: Ratio | None = None
    beside: str = ""
    setting: str = "best"
    parameters: str = ""


def per(name: str) -> Ratio:
    return lambda ours, yard: ours["rate"] / yard[name]


def in_commits(metric: str) -> Ratio:
    return lambda ours, yard: ours[metric] / 1000 * yard["commits"]


def own(metric: str) -> Ratio:
    """Where the workload has measured it itself."""
    return lambda ours, _: ours[metric]


START = "commit return to handler start"
WITHOUT = "of those without"
LINES = [
    Line("burn", "rate", "burn-down, one worker process", "tasks/s", "",
         per("rows"), "of rows inserted by 1,000"),
    Line("burn", "rate", "burn-down, retry-safe", "tasks/s", "",
         per("rows"), "of the same", "retry"),
    Line("bulk", "rate", "added, 1,000 in each statement", "tasks/s", "bulk enqueue",
         per("rows"), "of the same"),
    Line("latency", "p50", f"{START}, durable, p50", "ms", "start after commit, durable",
         in_commits("p50"), "of a commit of one row"),
    Line("latency", "p99", f"{START}, durable, p99", "ms", "",
         in_commits("p99"), "of the same"),
    Line("latency", "p50", f"{START}, retry-safe, p50", "ms", "start after commit, retry-safe",
         in_commits("p50"), "of the same", "retry"),
    Line("latency", "p99", f"{START}, retry-safe, p99", "ms", "",
         in_commits("p99"), "of the same", "retry"),
    Line("commits", "rate", "commits with a task, 1 client", "/s", "",
         own("part"), WITHOUT, parameters="clients 1"),
    Line("commits", "rate", "commits with a task, 64 clients", "/s",
         "add_task in a commit by a commit without", own("part"), WITHOUT,
         parameters="clients 64"),
    Line("commits", "rate", "the same", "/s", "add_task in a commit by a plain INSERT",
         own("part_of_row"), "of those with the row, no task", parameters="clients 64"),
    Line("first", "task_ms", "first add_task of a session", "ms", "first add_task",
         lambda ours, _: ours["task_ms"] / ours["row_ms"], "of the first plain INSERT"),
    Line("sql", "rate", "SQL handlers, one row updated by each", "tasks/s", "",
         per("updates"), "of such updates, 100 a commit"),
    Line("exec", "rate", "one-shot commands, /bin/true", "tasks/s", "/bin/true",
         own("part"), "of a posix_spawn loop"),
    Line("slow", "done_ms", "slow tenant: ten fast tasks done", "ms", "slow tenant"),
    Line("idle", "statements", "idle", "statements/s", "idle: statements"),
    Line("idle", "cpu_percent", "idle, sidecar and server", "% CPU", "idle: CPU"),
    Line("kill", "seconds", "SIGKILL: 50 tasks run again, another waits", "s", "SIGKILL",
         parameters="successor waiting"),
    Line("kill", "seconds", "SIGKILL, another is started after", "s",
         "the same, another is started", parameters="successor started"),
]


def measure(run: Run) -> None:
    for number in range(1, run.rounds + 1):
        say(f"round {number} of {run.rounds}")
        yardsticks(run, number)
        for workload in (EACH | ONCE if number == 1 else EACH).values():
            workload(run, number)


def found(run: Run, each: Line) -> tuple[list[float], list[float]]:
    """Figures and ratios, by rounds."""
    yards = {r["round"]: r["metrics"] for r in run.records if r["workload"] == "yard"}
    figures, made = [], []
    for record in run.records:
        workload, parameters, _, setting = key(record)
        value = record["metrics"].get(each.metric)
        if (workload, setting) == (each.workload, each.setting) and value is not None and (
                parameters.startswith(each.parameters)):
            figures.append(float(value))
            if each.ratio:
                made.append(each.ratio(record["metrics"], yards[record["round"]]))
    return figures, made


def part(value: float) -> str:
    return percent(value) if value < 1.5 else f"{short(value)} ×"


def goal(each: Line, results: dict[str, Any]) -> str:
    for target in TARGETS:
        if each.goal and target.what.startswith(each.goal):
            measured = target.value(Found(results))
            side = "at least" if target.least else "at most"
            return f"{side} {target.words(target.wanted)}: {target.verdict(measured).strip('*')}"
    return ""


def row(run: Run, each: Line, results: dict[str, Any], reference: dict[str, float]) -> list[str]:
    figures, made = found(run, each)
    if not figures:
        return [each.what, "MISSING", "", "", ""]
    figure, ratio = spread(figures), spread(made) if made else None
    spans = f"({short(figure['least'])} .. {short(figure['most'])})" if len(figures) > 1 else ""
    name = f"{each.what} {each.beside}"
    before = f"was {part(reference[name])}" if ratio and name in reference else ""
    return [each.what, f"{short(figure['median'])} {each.unit} {spans}".strip(),
            f"{part(ratio['median'])} {each.beside}" if ratio else "", before,
            goal(each, results)]


def report(run: Run, results: dict[str, Any], path: Path, keep: bool) -> None:
    """Ratios of an earlier run, of any machine, stand beside."""
    reference = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows = [row(run, each, results, reference) for each in LINES]
    machine, server = results["machine"], results["server"]
    print(f"\nPostgreSQL {server['server_version']}, fsync {server['fsync']}, synchronous_commit "
          f"{server['synchronous_commit']}, history kept; {machine['processors']} processors, "
          f"a disk that syncs in {machine['sync_ms']:.2f} ms, load {machine['load']:.1f} "
          "when it began\n")
    widths = [max(len(r[i]) for r in rows) for i in range(4)]
    for cells in rows:
        print("  ".join([*(c.ljust(w) for c, w in zip(cells, widths, strict=False)),
                         cells[4]]).rstrip())
    if keep:
        made = {f"{each.what} {each.beside}": round(spread(ratios)["median"], 3)
                for each in LINES if (ratios := found(run, each)[1])}
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
