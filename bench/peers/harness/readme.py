"""Puts the results where people look: into bench/results and docs/benchmarks.md."""

import json
import shutil
from pathlib import Path
from typing import Any

from . import plots
from .stats import Key, summarize
from .svg import short

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
NOTHING = "–"
Summary = dict[Key, dict[str, dict[str, float]]]

# Head of a column, and which figures stand in it: workload, parameters, metrics.
COLUMNS = [
    ("burn-down, tasks/s", ("burn", "", ["rate"])),
    ("start after commit, p50 / p99 ms", ("latency", "", ["p50", "p99"])),
    ("commits/s with a task, 64 clients", ("commits", "clients 64", ["rate"])),
    ("bulk enqueue, tasks/s", ("bulk", "", ["rate"])),
    ("one-row updates as tasks/s", ("sql", "", ["rate"])),
    ("chained tasks/s", ("chain", "", ["rate"])),
    ("ten fast behind 10,000 slow, ms", ("slow", "", ["ms"])),
]


def figures(summary: Summary, peer: str, setting: str, workload: str,
            parameters: str) -> dict[str, dict[str, float]]:
    """The figures of the last kind of handler: all systems have it."""
    found: dict[str, dict[str, float]] = {}
    for key, metrics in summary.items():
        if key[0] == workload and key[2:] == (peer, setting) and key[1].startswith(parameters):
            found = metrics
    return found


def cell(spread: dict[str, float]) -> str:
    middle, low, high = (short(spread[k]) for k in ("median", "least", "most"))
    return middle if low == high else f"{middle} ({low} .. {high})"


def cells(summary: Summary, peer: str, setting: str) -> list[str]:
    made = []
    for _, (workload, parameters, metrics) in COLUMNS:
        found = figures(summary, peer, setting, workload, parameters)
        made.append(" / ".join(cell(found[m]) for m in metrics)
                    if all(m in found for m in metrics) else NOTHING)
    return made


def history(about: dict[str, Any]) -> str:
    return "kept" if about["history"].startswith("kept") else "not kept"


def table(results: dict[str, Any]) -> list[str]:
    summary = summarize(results["records"])
    rows: list[tuple[str, list[str]]] = []
    for peer in results["peers"]:
        name, past = peer["name"], history(peer)
        if peer["missing"]:
            rows.append((f"{name} | {past}", ["missing here"]))
            continue
        strong = "**" if name == "twtasks" else ""
        for setting in ("best", "retry"):
            if setting in peer["settings"]:
                label = name if setting == "best" else f"{name}, tasks that may run twice"
                rows.append((f"{strong}{label}{strong} | {past}", cells(summary, name, setting)))
    return lines_of(rows)


def lines_of(rows: list[tuple[str, list[str]]]) -> list[str]:
    """Without the columns of what nobody was measured in."""
    full = [made for _, made in rows if len(made) == len(COLUMNS)]
    shown = [n for n in range(len(COLUMNS)) if any(made[n] != NOTHING for made in full)]
    lines = ["| | history | " + " | ".join(COLUMNS[n][0] for n in shown) + " |",
             "|---|---|" + "---|" * len(shown)]
    for head, made in rows:
        row = [made[n] for n in shown] if made in full else made + [""] * (len(shown) - len(made))
        lines.append(f"| {head} | " + " | ".join(row) + " |")
    return lines


def block(results: dict[str, Any]) -> list[str]:
    machine, server = results["machine"], results["server"]
    return [
        BEGIN, "",
        f"Each system in its own recommended fast settings, in turn, median (least .. most) of "
        f"{results['sizes']['rounds']} rounds; PostgreSQL {server['server_version'].split()[0]}, "
        f"default durability, {machine['processors']} processors, a disk that syncs in "
        f"{machine['sync_ms']:.2f} ms, load when it began: {machine['load']:.1f}; "
        f"{results['date']}:", "",
        *table(results), "",
        "![Burn-down: tasks done per second](../bench/results/fastest.svg)", "",
        "All figures with their ranges, the settings, what each system does not do, and our "
        "own targets, met and missed: [bench/results](../bench/results/results.md). Repeat it "
        "with `make bench-peers`.", "", END]


def publish(directory: Path, root: Path) -> None:
    """Copies what a run has written, and writes the part of docs/benchmarks.md anew."""
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    public = root / "bench" / "results"
    shutil.rmtree(public, ignore_errors=True)
    public.mkdir()
    for path in [directory / "results.md", directory / "results.json", *directory.glob("*.svg")]:
        shutil.copy(path, public)
    plots.fastest(public, results)
    readme = root / "docs" / "benchmarks.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{readme} has no place for the results: {BEGIN} ... {END}")
    readme.write_text(before + "\n".join(block(results)) + after, encoding="utf-8")
