"""Our targets, and whether this run reached them."""

import dataclasses
from collections.abc import Callable
from typing import Any

from .stats import Key, ratios, summarize
from .svg import short

PUBLISHED_CHAIN = 3571.0
"""tw-tasks: a million chained tasks in 280 s, by its own account."""

BULK_TODAY = 95_500.0
"""Tasks a second before the lean insert, on the machine of docs/benchmarks.md."""

GRAPHILE = "graphile-worker"
IN_PYTHON = ["procrastinate", "pgqueuer", "oban", "absurd", "pgmq", "dbos"]


class Found:
    """Looks up medians and ratios; None is whatever was not measured."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.records = results["records"]
        self.pairs = self.records + results.get("partners", [])
        self.summary = summarize(self.records)

    def median(self, workload: str, metric: str, parameters: str = "",
               setting: str = "best") -> float | None:
        """Our figure.  Parameters are as in stats.key(), or the beginning of that."""
        for key, metrics in self.summary.items():
            if key[0] == workload and key[1].startswith(parameters) and (
                    key[2:] == ("twtasks", setting)) and metric in metrics:
                return metrics[metric]["median"]
        return None

    def ratio(self, workload: str, metric: str, peer: str, setting: str = "best",
              **more: str) -> float | None:
        """Our figure divided by the peer's, round by round."""
        parameters = more.get("parameters", "")
        mine: Key = (workload, parameters, "twtasks", more.get("mine", "best"))
        found = ratios(self.pairs, mine, (workload, parameters, peer, setting), metric)
        return found["median"] if found else None

    def least_ratio(self, workload: str, metric: str, peers: list[str],
                    parameters: str = "", mine: str = "best") -> float | None:
        """By the best of several peers."""
        found = [self.ratio(workload, metric, peer, parameters=parameters, mine=mine)
                 for peer in peers]
        return min((r for r in found if r is not None), default=None)

    def latency_ratio(self, metric: str, mine: str) -> float | None:
        """By graphile-worker in whichever setting is better for it."""
        found = [self.ratio("latency", metric, "graphile-worker", setting, mine=mine)
                 for setting in ("best", "default")]
        return max((r for r in found if r is not None), default=None)

    def least(self, workload: str, metric: str) -> float | None:
        """Our least figure of all parameters."""
        return min((metrics[metric]["median"] for key, metrics in self.summary.items()
                    if key[0] == workload and key[2:] == ("twtasks", "best")), default=None)

    def best_chain(self, handlers: tuple[str, ...]) -> float | None:
        """The rate with the best of these kinds of handler."""
        rates = [metrics["rate"]["median"] for key, metrics in self.summary.items()
                 if key[0] == "chain" and key[2] == "twtasks"
                 and key[1].rpartition("handler ")[2] in handlers]
        return max(rates, default=None)

    def within(self, workload: str, metric: str, parameters: tuple[str, str]) -> float | None:
        """Our figure with the first parameters divided by that with the second."""
        keys: list[Key] = [(workload, p, "twtasks", "best") for p in parameters]
        found = ratios(self.records, keys[0], keys[1], metric)
        return found["median"] if found else None


def plus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def by(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


@dataclasses.dataclass
class Target:
    """least: wanted is the least, not the most; aim is what would be better still."""

    workload: str
    what: str
    wanted: float
    unit: str
    least: bool
    value: Callable[[Found], float | None]
    aim: float | None = None

    def reached(self, measured: float, wanted: float) -> bool:
        return measured >= wanted if self.least else measured <= wanted

    def words(self, value: float) -> str:
        return percent(value) if self.unit == "%%" else f"{short(value)} {self.unit}".strip()

    def verdict(self, measured: float | None) -> str:
        if measured is None:
            return "not measured"
        if not self.reached(measured, self.wanted):
            return "**missed**"
        if self.aim is None:
            return "met"
        reached = "also met" if self.reached(measured, self.aim) else "missed"
        return f"met, the aim of {self.words(self.aim)} {reached}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def at_least(workload: str, what: str, wanted: float, unit: str,
             value: Callable[[Found], float | None], aim: float | None = None) -> Target:
    return Target(workload, what, wanted, unit, True, value, aim)


def at_most(workload: str, what: str, wanted: float, unit: str,
            value: Callable[[Found], float | None]) -> Target:
    return Target(workload, what, wanted, unit, False, value)


# A unit of "%%" is a part, shown in percent.
TARGETS = [
    at_least("burn", "burn-down by graphile-worker's best, history kept", 2.5, "×",
             lambda f: f.ratio("burn", "rate", GRAPHILE)),
    at_least("burn", "the same by processor time", 2.5, "×",
             lambda f: by(1, f.ratio("burn", "cpu_us", GRAPHILE))),
    at_least("burn", "the same, finished tasks deleted", 3, "×",
             lambda f: f.ratio("burn", "rate", GRAPHILE, mine="delete")),
    at_least("burn", "the same, by processor time", 3, "×",
             lambda f: by(1, f.ratio("burn", "cpu_us", GRAPHILE, mine="delete"))),
    at_least("burn", "the same, both with Node handlers, history kept", 1.5, "×",
             lambda f: f.ratio("burn", "rate", GRAPHILE, mine="node")),
    at_least("burn", "burn-down by graphile_worker (Rust), best", 2.5, "×",
             lambda f: f.ratio("burn", "rate", "graphile-worker-rust")),
    at_least("burn", "burn-down by awa, best", 7.5, "×", lambda f: f.ratio("burn", "rate", "awa")),
    at_least("burn", "burn-down by PgQ, which keeps no state for each task", 1, "×",
             lambda f: f.ratio("burn", "rate", "pgq")),
    at_most("burn", "processor time of a task, server and worker", 15, "µs",
            lambda f: f.median("burn", "cpu_us")),
    at_most("burn", "WAL per task, add to history, 256 bytes of data", 1000, "bytes",
            lambda f: plus(f.median("bulk", "wal_bytes"), f.median("burn", "wal_bytes"))),
    at_least("commits", "add_task in a commit by a plain INSERT of the same row, 64 clients",
             1, "×", lambda f: f.median("commits", "part_of_row", "clients 64")),
    at_least("commits", "add_task in a commit by a commit without, 64 clients", 0.7, "×",
             lambda f: f.median("commits", "part", "clients 64")),
    at_most("first", "first add_task of a session, more than the first plain INSERT", 0.5, "ms",
            lambda f: f.median("first", "more_ms")),
    at_most("latency", "start after commit, durable, p50", 0.25, "ms",
            lambda f: f.median("latency", "p50")),
    at_most("latency", "the same by graphile-worker, its better setting", 0.4, "×",
            lambda f: f.latency_ratio("p50", "best")),
    at_most("latency", "start after commit, retry-safe, p50", 0.15, "ms",
            lambda f: f.median("latency", "p50", setting="retry")),
    at_least("bulk", "bulk enqueue, client in C", BULK_TODAY * 1.3, "tasks/s",
             lambda f: f.median("bulk", "rate")),
    at_least("bulk", "bulk enqueue through psycopg by the best peer in Python", 2, "×",
             lambda f: f.least_ratio("bulk", "rate", IN_PYTHON, mine="python")),
    at_least("exec", "/bin/true by a spawn loop with the same pipes", 0.9, "%%",
             lambda f: f.median("exec", "part", "program /bin/true")),
    at_least("chain", "chain by a worker, by tw-tasks' published 3,571/s", 5, "×",
             lambda f: by(f.best_chain(("worker", "reply")), PUBLISHED_CHAIN)),
    at_least("chain", "chain by handlers in SQL, by the same", 5, "×",
             lambda f: by(f.best_chain(("sql",)), PUBLISHED_CHAIN)),
    at_least("backlog", "rate beside a backlog by that without", 0.9, "%%",
             lambda f: f.median("backlog", "part")),
    at_least("types", "burn-down of 10,000 types by that of one type", 0.8, "%%",
             lambda f: f.least("types", "part")),
    at_least("held", "held snapshot: rate at the end by before", 0.95, "%%",
             lambda f: by(f.median("held", "rate_last"), f.median("held", "rate_before"))),
    at_most("held", "held snapshot: p99 at the end by before", 2, "×",
            lambda f: by(f.median("held", "p99_last"), f.median("held", "p99_before"))),
    at_most("idle", "idle: statements", 0.2, "/s", lambda f: f.median("idle", "statements")),
    at_most("idle", "idle: CPU of sidecar and server", 0.1, "%",
            lambda f: f.median("idle", "cpu_percent")),
    at_most("kill", "SIGKILL with 50 running, another waits: all running again", 5, "s",
            lambda f: f.median("kill", "seconds", "successor waiting")),
    at_most("kill", "the same, another is started after", 5, "s",
            lambda f: f.median("kill", "seconds", "successor started after")),
    at_most("slow", "slow tenant: ten fast tasks done", 50, "ms",
            lambda f: f.median("slow", "done_ms")),
    at_least("nodes", "burn-down by two sidecars by one", 1, "×",
             lambda f: f.within("nodes", "rate", ("nodes 2", "nodes 1"))),
]


def rows(results: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of target, wanted, measured, verdict."""
    found = Found(results)
    made = []
    for target in TARGETS:
        measured = target.value(found)
        side = "at least" if target.least else "at most"
        made.append((target.what, f"{side} {target.words(target.wanted)}",
                     "–" if measured is None else target.words(measured),
                     target.verdict(measured)))
    return made


def table(results: dict[str, Any]) -> list[str]:
    """The table of targets; figures that were not measured are missing there."""
    return ["## Targets", "", "| what | wanted | measured | |", "|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows(results)), ""]


def plain(results: dict[str, Any]) -> list[str]:
    """For the terminal."""
    made = rows(results)
    widths = [max(len(row[i]) for row in made) for i in range(3)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)),
                       row[3].strip("*")]) for row in made if row[3] != "not measured"]
