"""The charts of the results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import curves
from .stats import Key, language, summarize
from .svg import Chart, Dot, Row, draw

Summary = dict[Key, dict[str, dict[str, float]]]
Sizes = dict[str, Any]


def dot(spread: dict[str, float], hollow: bool = False) -> Dot:
    return Dot(spread["median"], spread["least"], spread["most"], hollow)


def keys(summary: Summary, workload: str, parameters: str = "") -> list[Key]:
    return [key for key in summary if key[0] == workload and key[1] == parameters]


def row(key: Key, dots: list[Dot], joined: bool = False, note: str = "") -> Row:
    return Row(key[2], note or key[3], dots, key[2] == "twtasks", joined)


def by_value(rows: list[Row], falling: bool) -> list[Row]:
    def value(each: Row) -> float:
        return each.dots[0].value if each.dots else 0.0
    return sorted(rows, key=value, reverse=falling)


def rate(workload: str, title: str, subtitle: str) -> Callable[[Summary, Sizes], Chart]:
    def make(summary: Summary, _sizes: Sizes) -> Chart:
        rows = [row(key, [dot(summary[key]["rate"])], note=handler(key))
                for key in summary if key[0] == workload]
        return Chart(title, f"{subtitle}; right is better", "tasks/s", by_value(rows, True),
                     linear=True)
    return make


# Settings that the chart of the fastest shows, with the language of their handlers.
FASTEST = ("best", "delete", "node", "python", "go")


def fastest(directory: Path, results: dict[str, Any]) -> None:
    summary = {key: value for key, value in summarize(results["records"]).items()
               if key[0] == "burn" and key[3] in FASTEST}
    rows = [row(key, [dot(value["rate"])], note=language(results, key)
                + (", not kept" if key[3] == "delete" else ""))
            for key, value in summary.items()]
    chart = Chart("Burn-down: tasks done per second", "no-op tasks of 256 bytes that wait already, "
                  "handlers in that language; right is better", "tasks/s",
                  by_value(rows, True), linear=True)
    (directory / "fastest.svg").write_text(draw(chart), encoding="utf-8")


def handler(key: Key) -> str:
    """Setting, or the kind of handler where a workload has several."""
    return "handlers in SQL" if key[1].endswith("handler sql") else key[3]


def latency(summary: Summary, _sizes: Sizes) -> Chart:
    rows = [row(key, [dot(summary[key]["p50"]), dot(summary[key]["p99"], True)], True)
            for key in keys(summary, "latency")]
    return Chart("Latency of a single task",
                 "from the return of the commit to the start of the handler; left is better",
                 "ms", by_value(rows, False), ("median", "99th percentile"))


def commits(summary: Summary, _sizes: Sizes) -> Chart:
    rows = [row(key, [dot(summary[key]["rate"]), dot(summary[key]["plain"], True)], True)
            for key in keys(summary, "commits", "clients 64")]
    return Chart("Commits of a row with one task each, 64 clients",
                 "and of the row alone; right is better", "commits/s",
                 by_value(rows, True), ("with a task", "without"), True)


def slow(summary: Summary, sizes: Sizes) -> Chart:
    limit = sizes["slow_limit"] * 1000
    rows = []
    for key in keys(summary, "slow"):
        ms = summary[key].get("ms")
        rows.append(row(key, [dot(ms) if ms else Dot(limit, limit, limit, over=True)]))
    return Chart("Slow tenant: ten fast tasks behind 10,000 slow ones",
                 "until the last of the ten has started; a triangle: not within "
                 f"{sizes['slow_limit']:g} s; left is better", "ms", by_value(rows, False))


def opened(summary: Summary, _sizes: Sizes) -> Chart:
    rates = sorted({key[1] for key in summary if key[0] == "open"}, key=lambda r: int(r.split()[1]))
    rows = []
    for rate in rates:
        found = [row(key, [dot(summary[key]["p50"]), dot(summary[key]["p99"], True)], True)
                 for key in keys(summary, "open", rate)]
        for each in by_value(found, False):
            each.note = f"{rate.split()[1]} tasks/s"
            rows.append(each)
    return Chart("Latency at a fixed rate",
                 "from when a task was due to be added to the start of its handler; "
                 "left is better", "ms", rows, ("median", "99th percentile"))


CHARTS: dict[str, Callable[[Summary, Sizes], Chart]] = {
    "burn": rate("burn", "Burn-down: tasks done per second",
                 "no-op tasks of 256 bytes that wait already; median and range"),
    "latency": latency, "commits": commits,
    "bulk": rate("bulk", "Tasks added, 1,000 in each statement", "one client"),
    "sql": rate("sql", "Handlers that update one row each", "tasks done per second"),
    "chain": rate("chain", "Chained tasks of 2.4 kB, each adds the next",
                  "tasks done per second"),
    "slow": slow, "open": opened}


def held(results: dict[str, Any]) -> dict[str, curves.Points]:
    """The p99 of each window in the first round."""
    return {record["peer"]: [(point[0], point[2]) for point in record["metrics"]["series"]]
            for record in results["records"]
            if record["workload"] == "held" and record["round"] == 1}


def write(directory: Path, results: dict[str, Any]) -> list[str]:
    """Returns the workloads that have one."""
    summary = summarize(results["records"])
    names = []
    for name, make in CHARTS.items():
        if any(key[0] == name for key in summary):
            chart = make(summary, results["sizes"])
            (directory / f"{name}.svg").write_text(draw(chart), encoding="utf-8")
            names.append(name)
    if found := held(results):
        (directory / "held.svg").write_text(curves.draw(
            "While a snapshot is held: p99 of the latency",
            "from when a task was due to be added to the start of its handler; low is better",
            "ms", found), encoding="utf-8")
        names.append("held")
    return names
