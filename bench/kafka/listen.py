"""The listener: how many messages a second become tasks, and what each costs.

	MESSAGES=200000		of each burn-down, of 500 bytes, in 3 partitions
	ROUNDS=3			the cases take turns in each
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import lib
from confluent_kafka import Producer
from harness import database

MESSAGES = lib.option("MESSAGES", 200000)
ROUNDS = lib.option("ROUNDS", 3)
PARTITIONS = 3
SIZE = 500
WANTED = 20000
TOPIC = "invoices"

CASES: dict[str, dict[str, object]] = {
    "a type": {"type": "BILL"},
    "a type, key json:/no": {"type": "BILL", "key": "json:/no"},
    "a type, key position, all headers": {"type": "BILL", "key": "position", "headers": ["*"]},
    "a function": {"function": "public.bill"},
}

FUNCTION = """
CREATE FUNCTION public.bill(m twtasks.message) RETURNS twtasks.new_task
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ROW('BILL', convert_from(m.value, 'UTF8')::jsonb, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL)::twtasks.new_task;
END $$
"""


def value(n: int) -> str:
    start = {"no": f"invoice {n}", "amount": n, "text": ""}
    return json.dumps({**start, "text": "x" * (SIZE - len(json.dumps(start)))})


def produce(brokers: lib.Brokers) -> None:
    producer = Producer({"bootstrap.servers": brokers.bootstrap, "acks": "all",
                         "queue.buffering.max.messages": 2 * MESSAGES})
    for n in range(MESSAGES):
        producer.produce(TOPIC, value(n), partition=n % PARTITIONS,
                         headers=[("source", "ledger"), ("kind", "invoice")])
    producer.flush()


@contextmanager
def listening(brokers: lib.Brokers, name: str, options: dict[str, object]) -> Iterator[int]:
    """A process of one listener, as the sidecar starts it."""
    settings = {
        "listen": 1, "node": "a",
        "postgres": f"host={os.environ['PGHOST']} user=postgres dbname={lib.DATABASE}",
        "kafka": {"brokers": brokers.bootstrap.split(","), "group": "bench"},
        "listeners": [{"name": name, "topics": [TOPIC], "start": "earliest", **options}]}
    process = subprocess.Popen([lib.DIRECTORY / "twtasks-kafka", "listen"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(30)


def taken(name: str) -> str:
    return f"coalesce((SELECT sum(next_offset) FROM twtasks.message_offset WHERE listener = '{name}'), 0)"


class Listeners:
    def __init__(self, brokers: lib.Brokers) -> None:
        self.brokers = brokers
        self.started = 0

    def measure(self, case: str) -> dict[str, float]:
        """From the first stored message to the last."""
        self.started += 1
        name = f"bench{self.started}"
        with listening(self.brokers, name, CASES[case]) as pid, \
                database.session(lib.DATABASE) as session:
            lib.wait_for(lambda: session.ask(f"SELECT {taken(name)} > 0") == "t")
            began, before = time.monotonic(), int(session.ask(f"SELECT {taken(name)}"))
            cpu = self.cpu(pid)
            lib.wait_for(lambda: session.ask(f"SELECT {taken(name)} = {MESSAGES}") == "t")
            took, after = time.monotonic() - began, self.cpu(pid)
            tasks = int(session.ask("SELECT count(*) FROM twtasks.task"))
        if tasks != MESSAGES:
            raise RuntimeError(f"{tasks} tasks of {MESSAGES} messages")
        lib.forget_tasks()
        return {"rate": (MESSAGES - before) / took,
                **{part: (after[part] - cpu[part]) * 1e6 / (MESSAGES - before) for part in after}}

    def cpu(self, listener: int) -> dict[str, float]:
        return {"listener": lib.cpu_seconds(listener),
                "server": lib.cpu_seconds(database.postmaster()),
                "broker": lib.cpu_seconds(*self.brokers.pids())}


def row(case: str, figures: dict[str, list[float]]) -> list[str]:
    rate = sorted(figures["rate"])[len(figures["rate"]) // 2]
    return [case, lib.spread(figures["rate"]), "met" if rate >= WANTED else "**missed**",
            *(lib.spread(figures[name]) for name in ("listener", "server", "broker"))]


def main() -> None:
    lib.create_database()
    lib.sql(FUNCTION)
    with lib.brokers() as brokers:
        brokers.create_topic(TOPIC, PARTITIONS)
        produce(brokers)
        found = lib.in_turn(ROUNDS, list(CASES), Listeners(brokers).measure)
    lib.write_results(
        "kafka-listen", "Messages of a topic, from Kafka to stored tasks",
        [["listener", "messages/s", f"at least {WANTED:,}", "listener, CPU µs a message",
          "PostgreSQL, µs", "broker, µs"], *(row(case, figures) for case, figures in found.items())],
        f"{MESSAGES:,} messages of {SIZE} bytes of JSON in {PARTITIONS} partitions, one listener; {ROUNDS} rounds, "
        "the cases in turn. No sidecar runs.")


main()
