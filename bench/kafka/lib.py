"""The common parts of the measurements with Kafka: brokers, sidecars,
statements, waits, and a page of results.

bench/kafka/run starts a measurement, with the server and the programs.
"""

import contextlib
import datetime
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic
from harness import database
from harness.machine import machine

DIRECTORY = Path(os.environ["BENCH_DIRECTORY"])
RESULTS = Path(__file__).parent.parent / "results"
DATABASE = "bench"
LOAD = os.getloadavg()[0]


# All that was started ends too when this is told to end.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def option(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


# ---- the server ----

def sql(*statements: str) -> str:
    return database.run(DATABASE, *statements)


def create_database() -> None:
    database.create(DATABASE)
    sql("CREATE EXTENSION twtasks", "SELECT twtasks_internal.make_partitions()")


def pgbench(statement: str, clients: int, times: int, *options: str) -> None:
    """Runs the statement so many times in all, each in a transaction of its own."""
    path = DIRECTORY / "statement.sql"
    path.write_text(f"{statement};", encoding="utf-8")
    subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-f", path,
         "-t", str(times // clients), *options, DATABASE],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def forget_tasks() -> None:
    """Removes all tasks while no sidecar runs."""
    sql("TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key",
        "UPDATE twtasks.node SET ended = clock_timestamp() WHERE ended IS NULL", "CHECKPOINT")


def wait_for(condition: str | Callable[[], bool], seconds: float = 600) -> None:
    """A statement that answers true, or a function."""
    until = time.monotonic() + seconds
    while not (condition() if callable(condition) else sql(condition) == "t"):
        if time.monotonic() > until:
            sys.exit(f"waited in vain: {condition}")
        time.sleep(0.02)


def cpu_seconds(*processes: int) -> float:
    """Processor time so far of these processes and of all below them."""
    return database.cpu_seconds(list(processes))


# ---- brokers ----

def free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Brokers:
    """A cluster of brokers, each of them a controller too, with the settings of a
    server.properties of its own.  Topics have as many replicas as there are
    brokers, up to three."""

    def __init__(self, n: int = 1, **settings: Any) -> None:
        ports = free_ports(2 * n)
        self.ports, controllers = ports[:n], ports[n:]
        self.replicas = min(3, n)
        voters = ",".join(f"{i + 1}@127.0.0.1:{port}" for i, port in enumerate(controllers))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.processes = [
            self._start(i + 1, port, controller, {"controller.quorum.voters": voters, **settings})
            for i, (port, controller) in enumerate(zip(self.ports, controllers, strict=True))]
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        wait_for(lambda: len(self._known()) == n, 60)

    def _start(self, node: int, port: int, controller: int,
               settings: dict[str, Any]) -> subprocess.Popen[bytes]:
        place = DIRECTORY / f"broker-{port}"
        (place / "data").mkdir(parents=True)
        (place / "data" / "meta.properties").write_text(
            f"version=1\nnode.id={node}\ncluster.id=dHd0YXNrcy1iZW5jaC0tLQ\n", encoding="ascii")
        own = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": place / "data",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": self.replicas,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": self.replicas,
            "group.initial.rebalance.delay.ms": 0,
            **settings}
        path = place / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in own.items()), encoding="utf-8")
        with (place / "log").open("wb") as log:
            return subprocess.Popen(
                ["java", "-Xmx1g", "-cp", f"{os.environ['KAFKA_JARS']}/*", "kafka.Kafka", path],
                stdout=log, stderr=log)

    def _known(self) -> dict[int, Any]:
        try:
            return self.admin.list_topics(timeout=5).brokers
        except Exception:       # it does not listen yet
            return {}

    def create_topic(self, name: str, partitions: int, **config: str) -> None:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=self.replicas,
                         config=config)
        self.admin.create_topics([topic])[name].result(timeout=60)

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(timeout=60)

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def brokers(n: int = 1, **settings: Any) -> Iterator[Brokers]:
    cluster = Brokers(n, **settings)
    try:
        yield cluster
    finally:
        cluster.close()


# ---- sidecars ----

@contextlib.contextmanager
def sidecar(node: str = "a", program: str = "twtasksd", **config: Any) -> Iterator[int]:
    """Runs a sidecar of the benchmark's database; gives its process id when it
    takes tasks.  The configuration has at least handlers."""
    path, log = DIRECTORY / f"{node}.yaml", DIRECTORY / f"{node}.log"
    path.write_text(json.dumps({
        "postgres": f"host={os.environ['PGHOST']} user=postgres dbname={DATABASE}",
        "node": node, **config}), encoding="utf-8")
    path.chmod(0o600)
    with log.open("wb") as errors:
        process = subprocess.Popen([DIRECTORY / program, "--config", path], stderr=errors)
    try:
        wait_for(lambda: process.poll() is not None or b"started as incarnation" in log.read_bytes(), 60)
        if process.poll() is not None:
            sys.exit(log.read_text(encoding="utf-8"))
        yield process.pid
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


# ---- results ----

def text(value: float) -> str:
    """Three digits that count."""
    return f"{float(f'{value:.3g}'):,.10g}"


def spread(values: Sequence[float]) -> str:
    """Median (least .. most)."""
    return f"{text(statistics.median(values))} ({text(min(values))} .. {text(max(values))})"


def in_turn(rounds: int, cases: Sequence[str],
            measure: Callable[[str], dict[str, float]]) -> dict[str, dict[str, list[float]]]:
    """Measures the cases in turn in each round, each second round backwards;
    returns the values of each figure by case."""
    found: dict[str, dict[str, list[float]]] = {case: {} for case in cases}
    for number in range(rounds):
        for case in cases if number % 2 == 0 else reversed(cases):
            for name, value in measure(case).items():
                found[case].setdefault(name, []).append(value)
            print(case, {name: text(values[-1]) for name, values in found[case].items()}, flush=True)
    return found


def write_results(name: str, what: str, rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Writes bench/results/NAME.md: a table whose first row is its head, and a note."""
    facts = machine()
    lines = [
        f"# {what}", "",
        f"Median (least .. most). {datetime.date.today().isoformat()}, twtasks at "
        f"{os.environ['BENCH_COMMIT']}; {facts['processors']} processors, {facts['processor']}, a disk "
        f"that syncs in {facts['sync_ms']:.2g} ms, load when it began {LOAD:.1f}; PostgreSQL "
        f"{database.run('postgres', 'SHOW server_version').split()[0]} with default durability, Kafka 3.9.1; "
        "all of it on the same machine.", "",
        *("| " + " | ".join(row) + " |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])]
    page = "\n".join(lines + (["", note] if note else [])) + "\n"
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
    print(page)
