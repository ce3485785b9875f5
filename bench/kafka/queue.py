"""Triggers through Kafka against the ring alone: how fast a burst is done of
which nearly every trigger is forwarded, and how soon a task is done that can
start at once.

	TASKS=50000			of each burst
	SLOTS=50			so many triggers of a burst stay
	ROUNDS=3			the cases take turns in each
	LATENCIES=2000		tasks, RATE of them a second
	RATE=200
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lib
from confluent_kafka import Consumer, TopicPartition
from harness import database

TASKS = lib.option("TASKS", 50000)
SLOTS = lib.option("SLOTS", 50)
ROUNDS = lib.option("ROUNDS", 3)
LATENCIES = lib.option("LATENCIES", 2000)
RATE = lib.option("RATE", 200)
PARTITIONS = 4
EACH = 500
WANTED = 0.7


class Queue:
    """The broker, and for each measurement a sidecar with a group and topic of
    its own."""

    def __init__(self, brokers: lib.Brokers) -> None:
        self.brokers = brokers
        self.groups = 0

    def forwarded(self) -> int:
        """Messages in the topic of the last measurement."""
        consumer = Consumer({"bootstrap.servers": self.brokers.bootstrap, "group.id": "count"})
        ends = [consumer.get_watermark_offsets(TopicPartition(self.topic, i), timeout=60)
                for i in range(PARTITIONS)]
        consumer.close()
        return sum(high - low for low, high in ends)

    def config(self, kind: str) -> dict[str, Any]:
        self.groups += 1
        self.topic = f"twTasks.g{self.groups}.executeTask.default"
        self.brokers.create_topic(self.topic, PARTITIONS)
        kafka = {"brokers": self.brokers.bootstrap.split(","), "group": f"g{self.groups}",
                 "settings": {"message.timeout.ms": 60000}}
        # One type may fill a twentieth of the table.
        return {"queue": kind, "kafka": kafka, "look_ahead": 20 * TASKS, "sweep": "1h",
                "handlers": [{"types": ["TASK"], "noop": True, "concurrency": SLOTS}]}

    @contextmanager
    def running(self, kind: str) -> Iterator[None]:
        log = lib.DIRECTORY / "a.log"
        with lib.sidecar(**self.config(kind)):
            if kind == "kafka":
                lib.wait_for(lambda: log.read_text().count("are read from the end") == PARTITIONS, 60)
            yield
        lib.forget_tasks()

    def burn(self, kind: str) -> float:
        """From the first commit to the last finish.  A transaction has no more
        triggers than the ring takes of it."""
        with self.running(kind), database.session(lib.DATABASE) as session:
            began = time.monotonic()
            lib.sql("DO $$ BEGIN FOR i IN 1.." + str(TASKS // EACH) + " LOOP "
                    "PERFORM count(*) FROM twtasks.add_tasks(ARRAY(SELECT "
                    "('TASK', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task "
                    f"FROM generate_series(1, {EACH}))); COMMIT; END LOOP; END $$")
            lib.wait_for(lambda: session.ask("SELECT NOT EXISTS (SELECT FROM twtasks.task)") == "t")
            return time.monotonic() - began

    def latency(self, kind: str) -> float:
        """p50 from the transaction's begin to the task's finish, in ms."""
        with self.running(kind):
            lib.pgbench("SELECT task_id FROM twtasks.add_task('TASK')", 4, LATENCIES, "-R", str(RATE))
            lib.wait_for("SELECT NOT EXISTS (SELECT FROM twtasks.task)")
            return float(lib.sql(
                "SELECT 1000 * extract(epoch FROM percentile_cont(0.5) WITHIN GROUP "
                "(ORDER BY state_time - created)) FROM twtasks.finished_task"))

    def measure(self, kind: str) -> dict[str, float]:
        took = self.burn(kind)
        share = self.forwarded() / TASKS
        return {"burn": TASKS / took, "forwarded": share, "p50": self.latency(kind)}


def main() -> None:
    lib.create_database()
    with lib.brokers() as brokers:
        found = lib.in_turn(ROUNDS, ["ring", "kafka"], Queue(brokers).measure)
    ratios = [kafka / ring for kafka, ring in
              zip(found["kafka"]["burn"], found["ring"]["burn"], strict=True)]
    rows = [["queue", "tasks a second of a burst", "part forwarded", "p50 of a single task, ms"]]
    rows += [[kind, lib.spread(found[kind]["burn"]), lib.spread(found[kind]["forwarded"]),
              lib.spread(found[kind]["p50"])] for kind in found]
    lib.write_results(
        "kafka-queue", "Triggers through Kafka against the ring", rows,
        f"Kafka's part of the ring's rate, round by round: {lib.spread(ratios)}; wanted are {WANTED}. "
        f"Bursts of {TASKS:,} tasks that do nothing, {SLOTS} slots, {PARTITIONS} partitions, one node; "
        f"single tasks at {RATE} a second.")


main()
