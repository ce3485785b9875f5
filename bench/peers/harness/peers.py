"""The systems compared: what about.json says of each, and their programs."""

import contextlib
import dataclasses
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ["BENCH_CACHE"])
STOP_SECONDS = 20


class Failure(Exception):
    """A driver did not do what it was asked."""


@dataclasses.dataclass
class Peer:
    """One system; missing says why it cannot be measured here."""

    name: str
    about: dict[str, Any]
    missing: str | None
    version: str = ""

    @property
    def directory(self) -> Path:
        return CACHE / self.name

    @property
    def settings(self) -> list[str]:
        return list(self.about["settings"])

    def setting(self, name: str) -> dict[str, Any]:
        return self.about["settings"][name]

    def lack(self, name: str) -> str | None:
        """Why this setting cannot be measured here."""
        needs = self.setting(name).get("needs")
        status = self.directory / f"status.{needs}"
        said = status.read_text(encoding="utf-8").strip() if status.exists() else "not installed"
        return said if needs and said != "ok" else None

    def command(self, *arguments: str) -> list[str]:
        return [word.format(cache=CACHE, here=self.directory)
                for word in self.about["command"]] + list(arguments)

    def environment(self, database: str, setting: str, **more: str) -> dict[str, str]:
        return {**os.environ, "NODE_ENV": "production", "PGDATABASE": database,
                "BENCH_SETTING": setting, "BENCH_CACHE": str(CACHE), **more}

    def run(self, arguments: list[str], environment: dict[str, str],
            seconds: float = 600) -> dict[str, Any]:
        """Runs a command to its end and returns the last line it said."""
        try:
            result = subprocess.run(
                self.command(*arguments), env=environment, cwd=self.directory, timeout=seconds,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"no answer within {seconds:g} s") from error
        if result.returncode != 0:
            raise Failure(f"{arguments[0]}: {result.stderr.strip()[-600:]}")
        lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}


def load(names: list[str]) -> list[Peer]:
    peers = []
    for name in names:
        about = json.loads((HERE / name / "about.json").read_text(encoding="utf-8"))
        status = CACHE / name / "status"
        said = status.read_text(encoding="utf-8").strip() if status.exists() else "not installed"
        peers.append(Peer(name, about, None if said == "ok" else said))
    return peers


class Server:
    """Some instances of a peer's worker, and what they report."""

    def __init__(self, peer: Peer, environment: dict[str, str], instances: int = 1) -> None:
        self.lock = threading.Lock()
        self.handled: dict[int, int] = {}
        self.first_ns: int | None = None
        self.at_ns = 0
        self.ready: set[int] = set()
        self.ready_ns = 0
        self.errors: list[str] = []
        self.processes = [
            subprocess.Popen(peer.command("serve"), env=environment, cwd=peer.directory,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
            for _ in range(instances)]
        self.listeners = []
        for number, process in enumerate(self.processes):
            threading.Thread(target=self._read, args=(number, process), daemon=True).start()
            listener = threading.Thread(target=self._read_errors, args=(process,), daemon=True)
            listener.start()
            self.listeners.append(listener)

    def _read(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("{"):
                self._take(number, json.loads(line))

    def _read_errors(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        for line in process.stderr:
            self.errors = self.errors[-20:] + [line]

    def _take(self, number: int, said: dict[str, int]) -> None:
        with self.lock:
            if "ready" in said:
                self.ready.add(number)
                self.ready_ns = max(self.ready_ns, said["ready"])
            if "handled" in said:
                self.handled[number] = said["handled"]
                self.first_ns = min(said["first"], self.first_ns or said["first"])
                self.at_ns = max(self.at_ns, said["at"])

    def total(self) -> int:
        with self.lock:
            return sum(self.handled.values())

    def last_words(self) -> str:
        for process, listener in zip(self.processes, self.listeners, strict=True):
            if process.poll() is not None:
                listener.join(1)
        return "".join(self.errors).strip()[-600:]

    def check(self) -> None:
        if any(process.poll() is not None for process in self.processes):
            raise Failure(f"the worker has gone: {self.last_words()}")

    def await_ready(self, seconds: float = 90) -> None:
        until = time.monotonic() + seconds
        while len(self.ready) < len(self.processes):
            self.check()
            if time.monotonic() > until:
                raise Failure("the worker does not get ready")
            time.sleep(0.01)

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def stop(self) -> None:
        """Asks them to end; one that died or does not end well is a failure."""
        self.check()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                status = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise Failure(f"the worker does not end within {STOP_SECONDS} s") from error
            if status != 0:
                raise Failure(f"the worker ended with {status}: {self.last_words()}")

    def kill(self) -> None:
        """As a machine that fails: all at once, nothing said."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


@contextlib.contextmanager
def serving(peer: Peer, environment: dict[str, str], instances: int = 1) -> Iterator[Server]:
    """A worker that must live until it is asked to end, or there is no figure."""
    server = Server(peer, environment, instances)
    try:
        server.await_ready()
        yield server
        server.stop()
    finally:
        server.kill()
