"""The results as a page: tables of medians with ranges, and what to know of them."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import plots, targets
from .stats import Key, days, key, language, rank, ratios, rounds, summarize
from .svg import short
from .targets import percent

Spread = dict[str, float]
Summary = dict[Key, dict[str, Spread]]


@dataclasses.dataclass
class Column:
    """A metric with its range; with a ratio, ours by theirs stands beside it."""

    metric: str
    head: str
    ratio: bool = False
    show: Callable[[float], str] = short


TABLES: dict[str, tuple[str, list[Column]]] = {
    "burn": ("Burn-down of no-op tasks of 256 bytes", [
        Column("rate", "tasks/s", True), Column("late_rate", "second half", True),
        Column("tasks", "tasks"),
        Column("commits", "commits/task"), Column("wal_bytes", "WAL bytes/task"),
        Column("cpu_us", "CPU µs/task", True), Column("server_cpu_us", "of the server"),
        Column("worker_cpu_us", "of the worker")]),
    "latency": ("Single-task latency, return of the commit to start of the handler", [
        Column("p50", "p50 ms", True), Column("p99", "p99 ms", True),
        Column("call_p50", "p50 ms from the call"), Column("samples", "samples")]),
    "enqueue": ("Enqueue, one task per transaction, by its own client", [
        Column("rate", "tasks/s", True), Column("wal_bytes", "WAL bytes/task"),
        Column("server_cpu_us", "server CPU µs/task")]),
    "bulk": ("Enqueue, 1,000 tasks per statement, by its own client", [
        Column("rate", "tasks/s", True), Column("wal_bytes", "WAL bytes/task"),
        Column("server_cpu_us", "server CPU µs/task")]),
    "commits": ("Commits of a row with one task added in each, and without", [
        Column("rate", "commits/s with", True), Column("plain", "without the task"),
        Column("part", "part", False, percent), Column("row", "same row in a plain table"),
        Column("part_of_row", "part of that", False, percent),
        Column("nothing", "no row at all"),
        Column("part_of_nothing", "part of that", False, percent)]),
    "first": ("The first statement of a session, median of new sessions", [
        Column("task_ms", "ms to add a task"), Column("row_ms", "the same row, plain INSERT"),
        Column("more_ms", "more")]),
    "slow": ("Slow tenant: ten fast tasks behind 10,000 of a second, five at a time", [
        Column("ms", "ms until the ten have started", True),
        Column("done_ms", "until they are finished")]),
    "sql": ("Handlers that update one row each: ours in the server, in batches of a transaction, "
            "beside a round trip for each job", [
                Column("rate", "tasks/s", True), Column("effects", "rows updated")]),
    "exec": ("One-shot commands, beside a bare posix_spawn loop", [
        Column("rate", "tasks/s", True), Column("spawn", "bare loop"),
        Column("part", "part", False, percent)]),
    "open": ("Open loop: latency from when a task was due", [
        Column("p50", "p50 ms", True), Column("p95", "p95 ms"), Column("p99", "p99 ms", True),
        Column("max", "max ms"), Column("not_started", "not started")]),
    "chain": ("Chained tasks of 2.4 kB, each adds the next", [
        Column("rate", "tasks/s", True), Column("tasks", "tasks"),
        Column("commits", "commits/task")]),
    "width": ("Burn-down with so many tasks at once", [Column("rate", "tasks/s", True)]),
    "nodes": ("Burn-down by several workers", [Column("rate", "tasks/s", True)]),
    "backlog": ("Burn-down beside waiting and finished tasks", [
        Column("rate", "tasks/s", True), Column("empty", "without backlog"),
        Column("part", "part", False, percent)]),
    "types": ("Burn-down of tasks of many types, and of one", [
        Column("rate", "tasks/s of many"), Column("one", "of one"),
        Column("part", "part", False, percent), Column("cpu_us", "CPU µs/task of many"),
        Column("one_cpu_us", "of one")]),
    "policies": ("Burn-down beside policies of other types, and without", [
        Column("rate", "tasks/s beside"), Column("without", "without"),
        Column("part", "part", False, percent), Column("cpu_us", "CPU µs/task beside"),
        Column("without_cpu_us", "without")]),
    "held": ("A snapshot is held: before, and in the last third", [
        Column("rate_before", "tasks/s before"), Column("rate_last", "last", True),
        Column("p99_before", "p99 ms before"), Column("p99_last", "last", True),
        Column("dead", "dead tuples at the end")]),
    "idle": ("Idle", [
        Column("statements", "statements/s"), Column("wake_ups", "wake-ups/s of the worker"),
        Column("server_cpu_percent", "server CPU %"),
        Column("worker_cpu_percent", "worker CPU %")]),
    "kill": ("Killed with 50 tasks running", [
        Column("seconds", "s until all run again"), Column("again", "run again")]),
}


def cell(spread: Spread | None, show: Callable[[float], str]) -> str:
    if spread is None:
        return "–"
    if show(spread["least"]) == show(spread["most"]):
        return show(spread["median"])
    return f"**{show(spread['median'])}** ({show(spread['least'])} .. {show(spread['most'])})"


def times(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    low, middle, high = (factor(spread[k]) for k in ("least", "median", "most"))
    return f"{middle} ×" if low == high else f"{middle} × ({low} .. {high})"


def factor(value: float) -> str:
    return short(value) if value >= 0.1 else f"1/{short(1 / value)}" if value > 0 else "0"


def ours(k: Key, known: set[Key]) -> Key:
    """The figures to compare a peer with: our best setting, the same parameters if any."""
    same = (k[0], k[1], "twtasks", "best")
    if same in known:
        return same
    return next((x for x in known if x[0] == k[0] and x[2:] == ("twtasks", "best")), same)


def over_text(results: dict[str, Any], k: Key) -> str:
    for record in results["records"]:
        if key(record) == k:
            if record["metrics"].get("over_ms"):
                return f"not within {record['metrics']['over_ms'] / 1000:g} s"
            if record["metrics"].get("over_seconds"):
                return f"not within {record['metrics']['over_seconds']:g} s"
    return "–"


def same_language(results: dict[str, Any], k: Key, known: set[Key]) -> Key | None:
    """Our figures with handler and client in the language of that row."""
    if k[2] == "twtasks":
        return None
    return next((x for x in sorted(known) if x[:3] == (*k[:2], "twtasks")
                 and language(results, x) == language(results, k)), None)


def pairs(results: dict[str, Any]) -> list[dict[str, Any]]:
    """All figures that a ratio may have: with ours of earlier runs."""
    return list(results["records"] + results.get("partners", []))


Made = list[tuple[str, str]]


def cells_of(results: dict[str, Any], k: Key, column: Column, summary: Summary,
             first: bool) -> Made:
    """Heads and cells of a column in the row of k."""
    spread = summary[k].get(column.metric)
    made = [(column.head, over_text(results, k) if first and spread is None
             else cell(spread, column.show))]
    if column.ratio:
        mine = ours(k, set(summary))
        made.append(("ours / theirs", "" if mine == k else times(
            ratios(pairs(results), mine, k, column.metric))))
        if any(same_language(results, x, set(summary)) for x in summary):
            same = same_language(results, k, set(summary))
            made.append(("both in one language", "" if same is None else times(
                ratios(pairs(results), same, k, column.metric))))
    return made


def table(workload: str, results: dict[str, Any]) -> list[str]:
    title, columns = TABLES[workload]
    summary = {k: v for k, v in summarize(results["records"]).items() if k[0] == workload}
    if not summary:
        return []
    lines = [f"## {title}", ""]
    parameters = any(k[1] for k in summary)
    several = len(days(results["records"])) > 1
    for number, k in enumerate(sorted(summary, key=lambda k: (rank(k[1]), order(results, k)))):
        made = [("system", k[2]), ("setting", k[3]), ("handler and client in",
                                                      language(results, k))]
        made += [("with", k[1])] if parameters else []
        if several:
            made.append(("measured", ", ".join(days(
                [record for record in results["records"] if key(record) == k]))))
        for column in columns:
            made += cells_of(results, k, column, summary, column is columns[0])
        if number == 0:
            lines += ["| " + " | ".join(head for head, _ in made) + " |", "|" + "---|" * len(made)]
        lines.append("| " + " | ".join(text for _, text in made) + " |")
    return [*lines, *notes(workload, results), ""]


def order(results: dict[str, Any], k: Key) -> int:
    return [peer["name"] for peer in results["peers"]].index(k[2])


def notes(workload: str, results: dict[str, Any]) -> list[str]:
    lines = [f"* not measured: {m['peer']} ({m['setting']}): {m['reason'].splitlines()[0]}"
             for m in results["missing"] if m["workload"] == workload]
    for peer in results["peers"]:
        said = (peer.get("published") or {}).get(workload)
        if said:
            lines.append(f"* published by others, not measured here: {peer['name']}: {said}")
    return ["", *lines] if lines else []


def measured(results: dict[str, Any], peer: dict[str, Any]) -> str:
    """The versions that its figures are of."""
    found = {r["version"] for r in results["records"] if r["peer"] == peer["name"] and "version" in r}
    return ", ".join(sorted(found)) or str(peer["version"])


def versions(results: dict[str, Any]) -> list[str]:
    lines = ["## Compared systems", "",
             "| system | version | language | history | what it does not do |",
             "|---|---|---|---|---|"]
    for peer in results["peers"]:
        version = f"**MISSING**: {peer['missing']}" if peer["missing"] else measured(results, peer)
        lines.append("| " + " | ".join([peer["name"], version, peer["language"], peer["history"],
                                        "; ".join(peer["not"])]) + " |")
    lines += ["", "| system | setting | what that is |", "|---|---|---|"]
    for peer in results["peers"]:
        for name, setting in peer["settings"].items():
            lines.append(f"| {peer['name']} | {name} | {setting['text']} |")
    return [*lines, ""]


def head(results: dict[str, Any]) -> list[str]:
    machine, server, sizes = results["machine"], results["server"], results["sizes"]
    return [
        "# twtasks beside its peers", "",
        f"Median (least .. most) of {rounds(results['records'])}, the systems in turn in each; "
        "\"ours / theirs\" is twtasks in its best setting by the system in that row, round by "
        "round. Repeat it with `make bench-peers`.", "",
        f"* {', '.join(days(results['records'])) or results['date']}; machine: {machine['processors']} processors, "
        f"{machine['processor']}, kernel {machine['kernel']}; a disk that syncs in "
        f"{machine['sync_ms']:.2f} ms; load when it began: {machine['load']:.1f}",
        f"* PostgreSQL {server['server_version']}: " + ", ".join(
            f"{name} {value}" for name, value in server.items() if name != "server_version"),
        f"* twtasks at {results['commit']}",
        "* sizes: " + ", ".join(f"{name} {value:g}" for name, value in sizes.items()
                                if name != "rounds"), ""]


def save(directory: Path, results: dict[str, Any]) -> None:
    """First beside, so that an end in the middle leaves what was there."""
    path = directory / "results.json"
    path.with_suffix(".new").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".new").replace(path)


def write(directory: Path, results: dict[str, Any]) -> None:
    pictures = plots.write(directory, results)
    lines = head(results)
    missing = [peer["name"] for peer in results["peers"] if peer["missing"]]
    if missing:
        lines += [f"**Missing here: {', '.join(missing)}** (reasons below).", ""]
    lines += targets.table(results)
    for workload in TABLES:
        lines += table(workload, results)
        if workload in pictures:
            lines += [f"![{TABLES[workload][0]}]({workload}.svg)", ""]
    lines += versions(results)
    (directory / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
