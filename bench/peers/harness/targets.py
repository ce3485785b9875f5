"""What we set out to reach, and whether this run did."""

from collections.abc import Callable
from typing import Any

from .stats import Key, ratios, summarize
from .svg import short

PUBLISHED_CHAIN = 3571.0
"""tw-tasks: a million chained tasks in 280 s, by its own account."""


class Found:
    """Looks up medians and ratios; None is whatever was not measured."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.records = results["records"]
        self.summary = summarize(self.records)

    def median(self, workload: str, metric: str, parameters: str | None = None,
               peer: str = "twtasks", setting: str = "best") -> float | None:
        values = [m[metric]["median"] for k, m in self.summary.items()
                  if k[0] == workload and k[2:] == (peer, setting) and metric in m
                  and (parameters is None or k[1] == parameters)]
        return max(values) if values else None

    def ratio(self, workload: str, metric: str, peer: str, setting: str = "best",
              parameters: str = "") -> float | None:
        mine: Key = (workload, parameters, "twtasks", "best")
        found = ratios(self.records, mine, (workload, parameters, peer, setting), metric)
        return found["median"] if found else None

    def worst_ratio(self, workload: str, metric: str, peers: list[str],
                    parameters: str = "") -> float | None:
        found = [r for peer in peers
                 if (r := self.ratio(workload, metric, peer, parameters=parameters)) is not None]
        return min(found) if found else None


def by(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


PEERS = ["graphile-worker", "pg-boss", "river", "procrastinate", "pgqueuer", "db-scheduler"]
NOTIFYING = ["graphile-worker", "pg-boss", "procrastinate", "pgqueuer"]
Value = Callable[[Found], float | None]

# What, unit, "least" or "most", how much, and where it is found.
TARGETS: list[tuple[str, str, str, float, Value]] = [
    ("burn-down by graphile-worker, best", "×", "least", 2,
     lambda f: f.ratio("burn", "rate", "graphile-worker")),
    ("burn-down by graphile-worker, default", "×", "least", 25,
     lambda f: f.ratio("burn", "rate", "graphile-worker", "default")),
    ("burn-down by River, best", "×", "least", 8, lambda f: f.ratio("burn", "rate", "river")),
    ("latency p50", "ms", "most", 0.4, lambda f: f.median("latency", "p50")),
    ("latency p50 by graphile-worker, best", "×", "most", 0.5,
     lambda f: f.ratio("latency", "p50", "graphile-worker")),
    ("latency p99 by graphile-worker, best", "×", "most", 0.5,
     lambda f: f.ratio("latency", "p99", "graphile-worker")),
    ("commits with a task by those with the same row and no task, 64 clients", "×", "least", 0.85,
     lambda f: f.median("commits", "part_of_row", "clients 64")),
    ("commits with a task by those of who notifies per job, 64 clients", "×", "least", 2,
     lambda f: f.worst_ratio("commits", "rate", NOTIFYING, "clients 64")),
    ("bulk enqueue", "tasks/s", "least", 150_000, lambda f: f.median("bulk", "rate")),
    ("bulk enqueue by the best peer", "×", "least", 1.5,
     lambda f: f.worst_ratio("bulk", "rate", PEERS)),
    ("SQL handlers", "tasks/s", "least", 40_000, lambda f: f.median("sql", "rate")),
    ("one-shot commands by a bare spawn loop", "×", "least", 0.9,
     lambda f: f.median("exec", "part")),
    ("chained test by the published 3,571/s", "×", "least", 5,
     lambda f: by(f.median("chain", "rate"), PUBLISHED_CHAIN)),
    ("rate with a backlog by that without", "×", "least", 0.9,
     lambda f: f.median("backlog", "part")),
    ("held snapshot, rate last by first", "×", "least", 0.95,
     lambda f: by(f.median("held", "rate_last"), f.median("held", "rate_first"))),
    ("held snapshot, p99 last by first", "×", "most", 2,
     lambda f: by(f.median("held", "p99_last"), f.median("held", "p99_first"))),
    ("idle statements", "/s", "most", 0.2, lambda f: f.median("idle", "statements")),
    ("idle CPU of the sidecar", "%", "most", 0.1, lambda f: f.median("idle", "worker_cpu_percent")),
    ("killed: all running again", "s", "most", 5, lambda f: f.median("kill", "seconds")),
    ("slow tenant", "ms", "most", 50, lambda f: f.median("slow", "ms")),
    ("two sidecars by one", "×", "least", 1,
     lambda f: by(f.median("nodes", "rate", "nodes 2"), f.median("nodes", "rate", "nodes 1"))),
]


def table(results: dict[str, Any]) -> list[str]:
    found = Found(results)
    lines = []
    for what, unit, side, wanted, value in TARGETS:
        measured = value(found)
        if measured is None:
            continue
        reached = measured >= wanted if side == "least" else measured <= wanted
        lines.append(f"| {what} | at {side} {short(wanted)} {unit} | {short(measured)} {unit} | "
                     f"{'reached' if reached else '**missed**'} |")
    if not lines:
        return []
    return ["## Targets", "", "| what | wanted | measured | |", "|---|---|---|---|", *lines, ""]
