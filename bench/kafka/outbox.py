"""The outbox: how many messages a second go from a commit to Kafka, what each
costs, and how long one takes.

	MESSAGES=100000		of each burn-down
	COMMITS=10000		calls of each run beside commits
	ROUNDS=3			the cases take turns in each
	LATENCIES=2000		messages, RATE of them a second
	RATE=500
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import lib
from confluent_kafka import Producer
from harness import database

MESSAGES = lib.option("MESSAGES", 100000)
COMMITS = lib.option("COMMITS", 10000)
ROUNDS = lib.option("ROUNDS", 3)
LATENCIES = lib.option("LATENCIES", 2000)
RATE = lib.option("RATE", 500)
CLIENTS = 16
VALUE = "x" * 200
WANTED = 10000

# Messages a call, partitions.
CASES = {f"{each} a call, {partitions} partition{'s' * (partitions > 1)}": (each, partitions)
         for each in (1, 100) for partitions in (1, 3)}


def call(topic: str, each: int) -> str:
    return (f"twtasks.send_to_kafka('{topic}', ARRAY(SELECT "
            f"twtasks.kafka_message('key ' || n, '{VALUE}') FROM generate_series(1, {each}) n))")


def commit(topic: str, each: int, calls: int, *options: str) -> None:
    """One call in each transaction, by several clients."""
    lib.pgbench(f"SELECT count(*) FROM {call(topic, each)}", CLIENTS, calls, *options)


def commit_at_once(topic: str, each: int, messages: int) -> None:
    lib.sql(f"DO $$ BEGIN FOR i IN 1..{messages // each} LOOP PERFORM {call(topic, each)}; "
            "END LOOP; END $$")


def wait_until_acknowledged(tasks: int) -> None:
    """All tasks are done: a status that needs the acknowledgement of each message."""
    with database.session(lib.DATABASE) as session:
        lib.wait_for(lambda: session.ask(
            "SELECT NOT EXISTS (SELECT FROM twtasks.task)") == "t")
        done = int(session.ask(
            "SELECT count(*) FROM twtasks.finished_task WHERE status = 'DONE'"))
    if done != tasks:
        raise RuntimeError(f"{done} tasks of {tasks} are done")


class Outbox:
    """The broker, a new topic for each measurement, and a sidecar that sends."""

    def __init__(self, brokers: lib.Brokers) -> None:
        self.brokers = brokers
        self.topics = 0

    @contextmanager
    def topic(self, partitions: int) -> Iterator[str]:
        self.topics += 1
        name = f"outbox{self.topics}"
        self.brokers.create_topic(name, partitions)
        yield name
        self.brokers.delete_topic(name)

    @contextmanager
    def sending(self, partitions: int) -> Iterator[tuple[str, int]]:
        """A new topic, and the sidecar that has sent a first message to it."""
        handler = {"types": ["SendToKafka"], "kafka": "*",
                   "brokers": self.brokers.bootstrap.split(",")}
        with self.topic(partitions) as topic, lib.sidecar(handlers=[handler]) as pid:
            commit(topic, 1, CLIENTS)
            wait_until_acknowledged(CLIENTS)
            lib.sql("TRUNCATE twtasks.finished_task", "CHECKPOINT")
            yield topic, pid
        lib.forget_tasks()

    def cpu(self, sidecar: int) -> dict[str, float]:
        return {"sidecar": lib.cpu_seconds(sidecar),
                "server": lib.cpu_seconds(database.postmaster()),
                "broker": lib.cpu_seconds(*self.brokers.pids())}

    def burn(self, each: int, partitions: int) -> dict[str, float]:
        """From a commit of all messages to the last acknowledgement."""
        with self.sending(partitions) as (topic, pid):
            commit_at_once(topic, each, MESSAGES)
            began, before = time.monotonic(), self.cpu(pid)
            wait_until_acknowledged(MESSAGES // each)
            took, after = time.monotonic() - began, self.cpu(pid)
        return {"burn": MESSAGES / took,
                **{name: (after[name] - before[name]) * 1e6 / MESSAGES for name in after}}

    def live(self, each: int, partitions: int) -> dict[str, float]:
        """From the first of many commits to the last acknowledgement."""
        with self.sending(partitions) as (topic, _):
            began = time.monotonic()
            commit(topic, each, COMMITS)
            committed = time.monotonic() - began
            wait_until_acknowledged(COMMITS)
            messages = COMMITS * each
            return {"commits": messages / committed, "live": messages / (time.monotonic() - began)}

    def alone(self, partitions: int) -> float:
        """A producer without a database: the bound that this machine's broker sets."""
        producer = Producer({
            "bootstrap.servers": self.brokers.bootstrap, "acks": "all",
            "enable.idempotence": True, "queue.buffering.max.messages": 2 * MESSAGES})
        with self.topic(partitions) as topic:
            producer.produce(topic, VALUE)
            producer.flush()
            began = time.monotonic()
            for n in range(MESSAGES):
                producer.produce(topic, VALUE, f"key {n % 100}", headers=[("twtasks-id", "x" * 38)])
            producer.flush()
            return MESSAGES / (time.monotonic() - began)

    def latency(self) -> tuple[float, float]:
        """p50 and p99 from the transaction's begin to the task's finish, in ms."""
        with self.sending(1) as (topic, _):
            commit(topic, 1, LATENCIES, "-R", str(RATE))
            wait_until_acknowledged(LATENCIES)
            p50, p99 = lib.sql(
                "SELECT round((1000 * extract(epoch FROM percentile_cont(p) WITHIN GROUP "
                "(ORDER BY state_time - created)))::numeric, 3) FROM twtasks.finished_task, "
                "unnest(ARRAY[0.5, 0.99]) p GROUP BY p ORDER BY p").split("\n")
            return float(p50), float(p99)

    def measure(self, case: str) -> dict[str, float]:
        each, partitions = CASES[case]
        figures = {**self.burn(each, partitions), **self.live(each, partitions)}
        alone = self.alone(partitions)
        return {**figures, "alone": alone, "share": figures["burn"] / alone}


def row(case: str, figures: dict[str, list[float]]) -> list[str]:
    burn = sorted(figures["burn"])[len(figures["burn"]) // 2]
    return [case, lib.spread(figures["burn"]), "met" if burn >= WANTED else "**missed**",
            *(lib.spread(figures[name]) for name in (
                "share", "commits", "live", "sidecar", "server", "broker"))]


def main() -> None:
    lib.create_database()
    with lib.brokers() as brokers:
        outbox = Outbox(brokers)
        found = lib.in_turn(ROUNDS, list(CASES), outbox.measure)
        latencies = [outbox.latency() for _ in range(ROUNDS)]
    head = ["messages", "acknowledged/s after one commit", f"at least {WANTED:,}",
            "by a producer without a database", "committed/s beside the sidecar",
            "acknowledged/s beside the commits", "sidecar and worker, CPU µs a message",
            "PostgreSQL, µs", "broker, µs"]
    p50, p99 = (lib.spread(values) for values in zip(*latencies, strict=True))
    lib.write_results(
        "kafka-outbox", "Messages of send_to_kafka(), from commit to acknowledged",
        [head, *(row(case, figures) for case, figures in found.items())],
        f"{MESSAGES:,} messages of {len(VALUE)} bytes, or {COMMITS:,} calls beside the sidecar; {ROUNDS} rounds, the "
        "cases in turn. One message of "
        f"{RATE} a second, from the begin of its transaction to the finish of its task: p50 {p50} ms, "
        f"p99 {p99} ms.")


main()
