"""Runs what the environment asks for and writes the results."""

import json
import os
import signal
import sys
from pathlib import Path

from . import machine, more, peers, report, stress, workloads
from .run import Run, say

ALL = workloads.ALL | more.ALL | stress.ALL
DEFAULT = "burn latency enqueue commits slow"
HERE = Path(__file__).resolve().parent.parent


def announce(run: Run) -> None:
    for peer in run.peers:
        if peer.missing is not None:
            say(f"MISSING {peer.name}: {peer.missing}")
            continue
        peer.version = str(peer.run(
            ["version"], peer.environment("postgres", peer.settings[0])).get("version", "?"))
        say(f"{peer.name} {peer.version}")


def main() -> None:
    # As an exception, so that whatever was started gets stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = Path(os.environ.get("RESULTS") or HERE / "results")
    directory.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:] == ["--report"]:
        report.write(directory, json.loads((directory / "results.json").read_text("utf-8")))
        return
    names = os.environ["PEERS"].split()
    wanted = (os.environ.get("WORKLOADS") or DEFAULT).split()
    for name in wanted:
        if name not in ALL:
            sys.exit(f"there is no workload \"{name}\": {', '.join(ALL)}")
    run = Run(peers.load(names))
    announce(run)
    for number in range(1, run.rounds + 1):
        for name in wanted:
            say(f"round {number} of {run.rounds}: {name}")
            ALL[name](run, number)
    results = machine.describe(run)
    (directory / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    report.write(directory, results)
    say(f"written: {directory}/results.md")


main()
