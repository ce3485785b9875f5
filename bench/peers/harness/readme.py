"""Puts the results where people look: into bench/results, docs/benchmarks.md and README.md."""

import json
import os
import shutil
import textwrap
from pathlib import Path
from typing import Any

from . import plots
from .stats import Key, days, key, language, rounds, summarize
from .svg import short

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
NOTHING = "–"
Summary = dict[Key, dict[str, dict[str, float]]]

# Head of a column, and which figures stand in it: workload, parameters, metrics.
Columns = list[tuple[str, tuple[str, str, list[str]]]]
COLUMNS: Columns = [
    ("burn-down, tasks/s", ("burn", "", ["rate"])),
    ("in its second half", ("burn", "", ["late_rate"])),
    ("CPU µs/task, server and worker", ("burn", "", ["cpu_us"])),
    ("start after commit, p50 / p99 ms", ("latency", "", ["p50", "p99"])),
    ("commits/s with a task, 64 clients", ("commits", "clients 64", ["rate"])),
    ("bulk enqueue, tasks/s", ("bulk", "", ["rate"])),
    ("chained tasks/s, the next added by the worker", ("chain", "handler worker", ["rate"])),
    ("or with its reply", ("chain", "handler reply", ["rate"])),
    ("ten fast behind 10,000 slow, ms", ("slow", "", ["ms"])),
]
# Systems that most readers compare, with a setting, and their main figures: for the README.
BRIEF = [("twtasks", "best"), ("twtasks", "node"), ("graphile-worker-rust", "best"),
         ("graphile-worker", "best"), ("pg-boss", "best"), ("river", "best")]
BRIEF_COLUMNS: Columns = [
    ("no-op tasks/s", ("burn", "", ["rate"])),
    ("CPU µs/task", ("burn", "", ["cpu_us"])),
    ("start after commit, p50 ms", ("latency", "", ["p50"])),
]
IN_SQL: Columns = [("one-row updates as tasks/s", ("sql", "", ["rate"]))]
# Settings that have a row, and the label of that row.
ROWS = {"best": "", "retry": ", tasks that may run twice", "delete": ", finished tasks deleted",
        "node": "", "python": "", "go": ""}


def figures(summary: Summary, peer: str, setting: str, workload: str,
            parameters: str) -> dict[str, dict[str, float]]:
    """The figures with these parameters, or with parameters that have these in them."""
    found: dict[str, dict[str, float]] = {}
    for key, metrics in summary.items():
        if key[0] == workload and key[2:] == (peer, setting) and parameters in key[1]:
            found = metrics
    return found


def cell(spread: dict[str, float]) -> str:
    middle, low, high = (short(spread[k]) for k in ("median", "least", "most"))
    return middle if low == high else f"{middle} ({low} .. {high})"


def cells(summary: Summary, peer: str, setting: str, columns: Columns) -> list[str]:
    made = []
    for _, (workload, parameters, metrics) in columns:
        found = figures(summary, peer, setting, workload, parameters)
        made.append(" / ".join(cell(found[m]) for m in metrics)
                    if all(m in found for m in metrics) else NOTHING)
    return made


def history(about: dict[str, Any], setting: str) -> str:
    said = about["settings"][setting].get("history", about["history"])
    return "kept" if said.startswith("kept") else "not kept"


def measured(results: dict[str, Any], peer: str, setting: str, columns: Columns) -> str:
    """A cell with the days of a row's figures, if there are figures of several days."""
    if len(days(results["records"])) < 2:
        return ""
    shown = [workload for _, (workload, _, _) in columns]
    return " | " + ", ".join(days([
        record for record in results["records"]
        if (record["peer"], record["setting"]) == (peer, setting) and record["workload"] in shown]))


def head_of(results: dict[str, Any]) -> str:
    return " | measured" if len(days(results["records"])) > 1 else ""


def when(results: dict[str, Any]) -> str:
    found = days(results["records"])
    if len(found) > 1:
        return "each row on its day"
    return found[0] if found else str(results["date"])


def table(results: dict[str, Any], columns: Columns) -> list[str]:
    """A row for each system and setting that has a figure there."""
    summary = summarize(results["records"])
    rows: list[tuple[str, list[str]]] = []
    for peer in results["peers"]:
        for setting in [name for name in ROWS if name in peer["settings"]]:
            key = (columns[0][1][0], "", peer["name"], setting)
            head = f"{peer['name']}{ROWS[setting]}"
            head = f"**{head}**" if peer["name"] == "twtasks" else head
            head += f" | {language(results, key)} | {history(peer, setting)}"
            head += measured(results, peer["name"], setting, columns)
            made = cells(summary, peer["name"], setting, columns)
            if any(text != NOTHING for text in made):
                rows.append((head, made))
            elif peer["missing"]:
                rows.append((head, ["missing here"]))
    return lines_of(rows, columns, head_of(results))


def lines_of(rows: list[tuple[str, list[str]]], columns: Columns, more: str) -> list[str]:
    """Without the columns of what nobody was measured in."""
    full = [made for _, made in rows if made != ["missing here"]]
    shown = [n for n in range(len(columns)) if any(made[n] != NOTHING for made in full)]
    lines = [f"| | handler and client in | history{more} | "
             + " | ".join(columns[n][0] for n in shown) + " |",
             "|---|---|---|" + "---|" * (len(shown) + bool(more))]
    for head, made in rows:
        row = [made[n] for n in shown] if made in full else made + [""] * (len(shown) - len(made))
        lines.append(f"| {head} | " + " | ".join(row) + " |")
    return lines


def in_sql(results: dict[str, Any]) -> list[str]:
    if not any(record["workload"] == "sql" for record in results["records"]):
        return []
    return ["Handlers that update a row of the same database. The handlers of twtasks run in the server, in batches "
            "of one transaction; the others make a round trip for each job:", "",
            *table(results, IN_SQL), ""]


def block(results: dict[str, Any]) -> list[str]:
    machine, server = results["machine"], results["server"]
    return [
        BEGIN, "",
        f"Each system in its own recommended fast settings, in turn, median (least .. most) of "
        f"{rounds(results['records'])}; PostgreSQL {server['server_version'].split()[0]}, "
        f"default durability, {machine['processors']} processors, a disk that syncs in "
        f"{machine['sync_ms']:.2f} ms, load when it began: {machine['load']:.1f}; "
        f"{when(results)}:", "",
        *table(results, COLUMNS), "",
        *in_sql(results),
        "![Burn-down: tasks done per second](../bench/results/fastest.svg)", "",
        "All figures with their ranges, the settings, what each system does not do, and our "
        "own targets, met and missed: [bench/results](../bench/results/results.md). Repeat it "
        "with `make bench-peers`.", "", END]


def brief(results: dict[str, Any]) -> list[str]:
    """A row for each system of BRIEF, medians only."""
    summary = summarize(results["records"])

    def middle(name: str, setting: str, workload: str, parameters: str, metric: str) -> str:
        found = figures(summary, name, setting, workload, parameters)
        return short(found[metric]["median"]) if metric in found else NOTHING

    more = head_of(results)
    lines = [f"| | handler in | history{more} | "
             + " | ".join(head for head, _ in BRIEF_COLUMNS) + " |",
             "|---|---|---|" + "---|" * (len(BRIEF_COLUMNS) + bool(more))]
    for name, setting in BRIEF:
        about = next((peer for peer in results["peers"] if peer["name"] == name), None)
        if about is None:
            continue
        made = [middle(name, setting, workload, parameters, metric)
                for _, (workload, parameters, [metric]) in BRIEF_COLUMNS]
        lines.append(f"| {name} | {language(results, ('burn', '', name, setting))} "
                     f"| {history(about, setting)}"
                     f"{measured(results, name, setting, BRIEF_COLUMNS)} | " + " | ".join(made) + " |")
    machine, server = results["machine"], results["server"]
    said = (f"Each system in its own fast settings, with default durability, PostgreSQL "
            f"{server['server_version'].split()[0]}, {machine['processors']} processors, {when(results)}:")
    return [BEGIN, "", *textwrap.wrap(said, 110), "", *lines, "", END]


def replaced(path: Path, lines: list[str]) -> str:
    """The page with new results between its marks."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no place for the results: {BEGIN} ... {END}")
    return before + "\n".join(lines) + after


def would_go(results: dict[str, Any], public: Path) -> list[str]:
    """Published figures that the results have no successor of."""
    path = public / "results.json"
    if not path.exists() or os.environ.get("LESS"):
        return []
    there = {key(record) for record in results["records"]}
    before = json.loads(path.read_text(encoding="utf-8"))["records"]
    return sorted({" ".join(filter(None, key(record))) for record in before} - {
        " ".join(filter(None, each)) for each in there})


def publish(directory: Path, root: Path) -> None:
    """Copies what a run has written, and writes its parts of the pages anew. Nothing
    is written if published figures would go, or if a page cannot be made."""
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    public = root / "bench" / "results"
    public.mkdir(exist_ok=True)
    if gone := would_go(results, public):
        raise SystemExit("not published, since published figures would go: " + "; ".join(gone)
                         + ". ADD=published keeps them in a run, LESS=1 lets them go")
    pages = [(path, replaced(path, lines)) for path, lines in (
        (root / "docs" / "benchmarks.md", block(results)), (root / "README.md", brief(results)))]
    for old in public.glob("*.svg"):
        old.unlink()
    for path in [directory / "results.md", directory / "results.json", *directory.glob("*.svg")]:
        shutil.copy(path, public)
    plots.fastest(public, results)
    for page, text in pages:
        page.write_text(text, encoding="utf-8")
