"""Figures of earlier runs, which stay beside those of this run.

A row of the results has the figures of one run for each workload, and the tables
say of which day. A ratio needs both systems in one run. So our own earlier
figures stay too, apart from the rows, while another system of their run has a
row.
"""

import json
import os
from pathlib import Path
from typing import Any

from .run import Run

OURS = "twtasks"
PUBLISHED = Path(__file__).resolve().parents[2] / "results" / "results.json"


def source(directory: Path) -> Path | None:
    """The results to add to, if any."""
    asked = os.environ.get("ADD")
    path = PUBLISHED if asked == "published" else directory / "results.json"
    return path if asked and path.exists() else None


def stamp(earlier: dict[str, Any]) -> None:
    """Older results have one day for all figures."""
    versions = {peer["name"]: peer["version"] for peer in earlier["peers"]}
    for record in earlier["records"]:
        record.setdefault("run", earlier["date"])
        record.setdefault("version", versions[record["peer"]])


def is_measured(run: Run, wanted: list[str], entry: dict[str, Any]) -> bool:
    """Whether this run has that figure, or the reason why it is missing."""
    return (entry["workload"] in wanted
            and entry["peer"] in [peer.name for peer in run.peers]
            and (entry["workload"] not in run.ours or entry["peer"] == OURS)
            and (not run.only or entry["setting"] in (*run.only, "-")))


def keep(run: Run, wanted: list[str], directory: Path) -> dict[str, Any]:
    """Adds this run to earlier results, which it returns. A system that cannot be
    had today keeps its earlier figures."""
    path = source(directory)
    if path is None:
        return {}
    earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    stamp(earlier)
    known = [peer["name"] for peer in earlier["peers"] if not peer["missing"]]
    run.peers = [peer for peer in run.peers if peer.missing is None or peer.name not in known]
    names = [peer.name for peer in run.peers]
    run.others = [peer for peer in earlier["peers"] if peer["name"] not in names]
    kept = [r for r in earlier["records"] if not is_measured(run, wanted, r)]
    shown = {(r["workload"], r["run"]) for r in kept if r["peer"] != OURS}
    run.partners = [r for r in earlier["records"] + earlier.get("partners", [])
                    if r["peer"] == OURS and (r["workload"], r["run"]) in shown and r not in kept]
    run.records += kept
    run.failures += [f for f in earlier["missing"] if not is_measured(run, wanted, f)]
    return earlier


def say_what_is_added(results: dict[str, Any], earlier: dict[str, Any], run: Run,
                      wanted: list[str]) -> None:
    """The sizes and the version are those of the run to which this one adds; what
    differs is said beside the version."""
    sizes, before = results["sizes"], earlier["sizes"]
    other = [f"{name} {value:g}" for name, value in sizes.items() if value != before.get(name)]
    results["commit"] = (
        f"{earlier['commit']}; {', '.join(wanted)} of {', '.join(p.name for p in run.peers)} "
        f"at {results['commit']}" + (f", with {', '.join(other)}" if other else ""))
    results["sizes"] = before
