"""One run: what is measured, how much of it, and what was found."""

import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import database
from .peers import Failure, Peer

Record = Callable[[dict[str, Any]], None]


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
    bulk: int = int(number("BULK", 50_000))
    latencies: int = int(number("LATENCIES", 1000))
    slow_tasks: int = int(number("SLOW_TASKS", 10_000))
    slow_limit: float = number("SLOW_LIMIT", 5)
    seconds: float = number("SECONDS_EACH", 2)
    box: float = number("BOX", 3)
    clients: tuple[int, ...] = (1, 8, 64)
    only: tuple[str, ...] = tuple(os.environ.get("SETTINGS", "").split())
    records: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    failures: list[dict[str, str]] = dataclasses.field(default_factory=list)

    def turns(self, workload: str, round_number: int,
              wanted: list[str] | None = None) -> Iterator[tuple[Peer, str]]:
        """Every peer in every setting; who comes first changes by round."""
        present = [peer for peer in self.peers if peer.missing is None]
        shift = (round_number - 1) % max(1, len(present))
        for peer in present[shift:] + present[:shift]:
            if lack := peer.about.get("lacks", {}).get(workload):
                self.skip(workload, peer, "-", lack)
                continue
            for setting in peer.settings:
                only = peer.setting(setting).get("only", [workload])
                if (wanted is None or setting in wanted) and workload in only and (
                        not self.only or setting in self.only):
                    yield peer, setting

    def environment(self, peer: Peer, name: str, setting: str, **more: str) -> dict[str, str]:
        return peer.environment(name, setting, **more)

    @contextlib.contextmanager
    def measuring(self, workload: str, peer: Peer, setting: str, round_number: int,
                  **parameters: Any) -> Iterator[Record]:
        """What fails is reported in the results and does not end the run."""
        what = " ".join([workload, *(f"{k}={v}" for k, v in parameters.items()),
                         peer.name, setting])
        begin = time.monotonic()

        def record(metrics: dict[str, Any]) -> None:
            self.records.append({"round": round_number, "workload": workload, "peer": peer.name,
                                 "setting": setting, "parameters": parameters,
                                 "metrics": metrics})
            say(f"  {what}: {shown(metrics)} [{time.monotonic() - begin:.1f} s]")

        try:
            yield record
        except (Failure, RuntimeError, OSError) as error:
            self.skip(workload, peer, setting, str(error))

    def skip(self, workload: str, peer: Peer, setting: str, reason: str) -> None:
        entry = {"workload": workload, "peer": peer.name, "setting": setting, "reason": reason}
        if entry not in self.failures:
            self.failures.append(entry)
            say(f"  MISSING {workload} {peer.name} {setting}: {reason}")

    def variant(self, peer: Peer, setting: str) -> str:
        """Settings share their databases, but where they need others."""
        return setting if peer.about.get("own_database") else ""

    def template(self, peer: Peer, setting: str) -> str:
        """A database with the peer's tables, made on first use."""
        name = f"empty {peer.name} {self.variant(peer, setting)}"
        if not database.exists(name):
            database.create(name)
            try:
                peer.run(["prepare"], self.environment(peer, name, setting))
                database.run(name, "VACUUM ANALYZE")
            except Failure:
                database.drop(name)
                raise
        return name

    @contextlib.contextmanager
    def empty(self, peer: Peer, setting: str) -> Iterator[str]:
        with database.fresh(self.template(peer, setting)) as name:
            yield name

    @contextlib.contextmanager
    def filled(self, peer: Peer, setting: str, kind: str, tasks: int,
               bytes_each: int = 256) -> Iterator[str]:
        """A database with so many tasks; filled once, then copied."""
        full = f"{peer.name} {self.variant(peer, setting)} {kind} {tasks} {bytes_each}"
        if not database.exists(full):
            database.create(full, self.template(peer, setting))
            try:
                self.fill(peer, setting, full, kind, tasks, bytes_each)
                database.run(full, "VACUUM ANALYZE")
            except Failure:
                database.drop(full)
                raise
        with database.fresh(full) as name:
            yield name

    def fill(self, peer: Peer, setting: str, name: str, kind: str, tasks: int,
             bytes_each: int) -> None:
        peer.run(["fill", kind, str(tasks), str(bytes_each)],
                 self.environment(peer, name, setting))


def shown(metrics: dict[str, Any]) -> str:
    parts = []
    for name, value in metrics.items():
        parts.append(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}")
    return ", ".join(parts)
