"""Runs what the environment asks for and writes the results."""

import json
import os
import signal
import sys
from pathlib import Path

from . import adding, commits, machine, many, more, peers, readme, report, short, stress, targets, workloads
from .run import Run, say

ALL = workloads.ALL | commits.ALL | more.ALL | stress.ALL | many.ALL
# The default run: what docs/benchmarks.md shows and what most targets are about; the
# latter for us alone.
DEFAULT = "burn latency bulk commits first slow sql exec chain"
OURS = "nodes kill idle"
HERE = Path(__file__).resolve().parent.parent


def announce(run: Run) -> None:
    for peer in run.peers:
        if peer.missing is not None:
            say(f"MISSING {peer.name}: {peer.missing}")
            continue
        peer.version = str(peer.run(
            ["version"], peer.environment("postgres", peer.settings[0])).get("version", "?"))
        say(f"{peer.name} {peer.version}")


def asked_for(run: Run) -> list[str]:
    wanted = (os.environ.get("WORKLOADS") or f"{DEFAULT} {OURS}").split()
    if not os.environ.get("WORKLOADS"):
        run.ours = frozenset(OURS.split())
    if wanted == ["all"]:
        return list(ALL)
    for name in wanted:
        if name not in ALL:
            sys.exit(f"there is no workload \"{name}\": {', '.join(ALL)}, or all")
    return wanted


def measure(run: Run, wanted: list[str], directory: Path) -> None:
    """Runs all rounds, and writes the results after each workload."""
    for number in range(1, run.rounds + 1):
        for name in wanted:
            say(f"round {number} of {run.rounds}: {name}")
            ALL[name](run, number)
            report.save(directory, machine.describe(run))


def briefly(run: Run, keep: bool) -> None:
    """Measures twtasks alone; ends with an error when a figure is missing."""
    machine.machine()
    short.measure(run)
    short.report(run, machine.describe(run), HERE.parent / "reference.json", keep)
    sys.exit(1 if run.failures else 0)


def compare(run: Run, directory: Path) -> None:
    wanted = asked_for(run)
    machine.machine()
    announce(run)
    earlier = adding.keep(run, wanted, directory)
    measure(run, wanted, directory)
    results = machine.describe(run)
    if earlier:
        adding.say_what_is_added(results, earlier, run, wanted)
    report.save(directory, results)
    report.write(directory, results)
    print("\n".join(targets.plain(results)))
    for entry in run.failures:
        say(f"MISSING {entry['workload']} {entry['peer']} {entry['setting']}: {entry['reason']}")
    say(f"written: {directory}/results.md")


def main() -> None:
    # As an exception, so that whatever was started gets stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = Path(os.environ.get("RESULTS") or HERE / "results")
    if "--publish" in sys.argv:
        readme.publish(directory, HERE.parent.parent)
        return
    if "--report" in sys.argv:
        report.write(directory, json.loads((directory / "results.json").read_text("utf-8")))
        return
    run = Run(peers.load(os.environ["PEERS"].split()))
    if "--short" in sys.argv:
        briefly(run, "--keep" in sys.argv)
    directory.mkdir(parents=True, exist_ok=True)
    compare(run, directory)


main()
