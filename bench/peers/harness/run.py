"""One run: what is measured, how much of it, and what was found."""

import contextlib
import dataclasses
import datetime
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import database
from .peers import Failure, Peer

Metrics = dict[str, Any]

# Errors of a single measurement; any other error is a mistake of ours.
MISHAPS = (Failure, RuntimeError, OSError, subprocess.SubprocessError, ValueError, KeyError)


def number(name: str, default: float) -> float:
    return float(os.environ.get(name) or default)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Run:
    """Sizes come from the environment: see ../README.md."""

    peers: list[Peer]
    rounds: int = int(number("ROUNDS", 3))
    tasks: int = int(number("TASKS", 200_000))
    bulk: int = int(number("BULK", 100_000))
    latencies: int = int(number("LATENCIES", 1000))
    latency_seconds: float = number("LATENCY_SECONDS", 5)
    slow_tasks: int = int(number("SLOW_TASKS", 10_000))
    slow_limit: float = number("SLOW_LIMIT", 5)
    seconds: float = number("SECONDS_EACH", 8)
    box: float = number("BOX", 20)
    clients: tuple[int, ...] = tuple(
        int(count) for count in (os.environ.get("CLIENTS") or "1 8 64").split())
    # Workloads that are measured for us alone.
    ours: frozenset[str] = frozenset()
    only: tuple[str, ...] = tuple(os.environ.get("SETTINGS", "").split())
    records: list[Metrics] = dataclasses.field(default_factory=list)
    failures: list[dict[str, str]] = dataclasses.field(default_factory=list)
    # Systems of earlier runs, and our figures of these: see adding.py.
    others: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    partners: list[Metrics] = dataclasses.field(default_factory=list)
    began: str = dataclasses.field(
        default_factory=lambda: datetime.datetime.now().isoformat(timespec="seconds"))

    def turns(self, workload: str, round_number: int,
              wanted: tuple[str, ...] = ("best",)) -> Iterator["Turn"]:
        """Every peer in those settings, or in all if there are none; who comes
        first changes by round."""
        present = [peer for peer in self.peers if peer.missing is None]
        shift = (round_number - 1) % max(1, len(present))
        for peer in present[shift:] + present[:shift]:
            if workload in self.ours and peer.name != "twtasks":
                continue
            if "only" in peer.about and workload not in peer.about["only"]:
                continue
            if lack := peer.about.get("lacks", {}).get(workload):
                self.skip(workload, peer.name, "-", lack)
                continue
            for setting in peer.settings:
                only = peer.setting(setting).get("only")
                if (workload in only if only else not wanted or setting in wanted) and (
                        not self.only or setting in self.only):
                    if lack := peer.lack(setting):
                        self.skip(workload, peer.name, setting, lack)
                        continue
                    yield Turn(self, workload, round_number, peer, setting)

    def skip(self, workload: str, peer: str, setting: str, reason: str) -> None:
        entry = {"workload": workload, "peer": peer, "setting": setting, "reason": reason}
        if entry not in self.failures:
            self.failures.append(entry)
            say(f"  MISSING {workload} {peer} {setting}: {reason}")


@dataclasses.dataclass
class Turn:
    """One system in one setting, whose turn it is in a workload."""

    run: Run
    workload: str
    round: int
    peer: Peer
    setting: str

    def environment(self, name: str, **more: str) -> dict[str, str]:
        return self.peer.environment(name, self.setting, **more)

    @property
    def instances(self) -> int:
        return int(self.peer.setting(self.setting).get("instances", 1))

    def burn_tasks(self) -> int:
        """More for a fast system, which would else be done in a moment."""
        return self.run.tasks * int(self.peer.about.get("burn_times", 1))

    def measure(self, function: Callable[..., Metrics], **parameters: Any) -> None:
        """Records the figures of function(self, **parameters).  A failure is reported
        as a missing figure."""
        what = " ".join([self.workload, *(f"{k}={v}" for k, v in parameters.items()),
                         self.peer.name, self.setting])
        begin = time.monotonic()
        try:
            metrics = function(self, **parameters)
        except MISHAPS as error:
            self.run.skip(self.workload, self.peer.name, self.setting, str(error) or repr(error))
            return
        self.run.records.append({
            "run": self.run.began, "version": self.peer.version,
            "round": self.round, "workload": self.workload, "peer": self.peer.name,
            "setting": self.setting, "parameters": parameters, "metrics": metrics})
        say(f"  {what}: {shown(metrics)} [{time.monotonic() - begin:.1f} s]")

    def variant(self) -> str:
        """Settings share their databases, but where they need others."""
        return self.setting if self.peer.about.get("own_database") else ""

    def made(self, name: str, template: str, make: Callable[[], None]) -> str:
        """A database made on first use; what failed half-way is dropped."""
        if not database.exists(name):
            database.create(name, template)
            try:
                make()
                database.run(name, "VACUUM ANALYZE")
            except MISHAPS:
                database.drop(name)
                raise
        return name

    def template(self) -> str:
        """A database with the peer's tables."""
        name = f"empty {self.peer.name} {self.variant()}"
        return self.made(name, "template0", lambda: self.tell(name, "prepare"))

    def tell(self, name: str, *command: str, **more: str) -> None:
        self.peer.run(list(command), self.environment(name, **more), 3600)

    @contextlib.contextmanager
    def empty(self) -> Iterator[str]:
        with database.fresh(self.template(), self.peer.about.get("copied")) as name:
            yield name

    @contextlib.contextmanager
    def copy_of(self, name: str) -> Iterator[str]:
        """A copy to burn down."""
        with database.fresh(name, self.peer.about.get("copied")) as copy:
            database.touch_memory()
            yield copy

    @contextlib.contextmanager
    def filled(self, kind: str, tasks: int, bytes_each: int = 256) -> Iterator[str]:
        """A database with so many tasks; filled once, then copied."""
        name = f"{self.peer.name} {self.variant()} {kind} {tasks} {bytes_each}"
        self.made(name, self.template(),
                  lambda: self.tell(name, "fill", kind, str(tasks), str(bytes_each)))
        with self.copy_of(name) as copy:
            yield copy


def shown(metrics: Metrics) -> str:
    """Series are for the plots."""
    parts = []
    for name, value in metrics.items():
        if not isinstance(value, list):
            parts.append(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}")
    return ", ".join(parts)
