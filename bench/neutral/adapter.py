"""Adapter of twtasks for hardbyte/postgresql-job-queue-benchmarking, by that
harness's guide for adapters: settings come in the environment, tokens for the
producer on stdin, and samples go to stdout.

A session adds batches by add_tasks().  A sidecar runs the tasks in one worker process,
worker.c, at most WORKER_COUNT at once.  Tasks may run twice after a crash, as
the harness's other systems do.
"""

import array
import collections
import contextlib
import ctypes
import datetime
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psycopg

SYSTEM = "twtasks"
BUCKETS = 30 * 512
WINDOW_S = 30
PR_SET_PDEATHSIG = 1
PERCENTS = (50, 95, 99)


def number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


URL = os.environ["DATABASE_URL"]
INSTANCE = number("BENCH_INSTANCE_ID", 0)
SAMPLE_S = number("SAMPLE_EVERY_S", 5)
BATCH_MAX = number("PRODUCER_BATCH_MAX", 128)
BATCH_S = number("PRODUCER_BATCH_MS", 25) / 1000
WORKERS = number("WORKER_COUNT", 32)
MANIFEST = json.loads((Path(__file__).parent / "adapter.json").read_text(encoding="utf-8"))


def say(record: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({**record, "system": SYSTEM, "instance_id": INSTANCE}) + "\n")
    sys.stdout.flush()


def now_iso() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


class Tally:
    """The counts of worker.c: tasks, and two histograms."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "tally"
        self.path.write_bytes(bytes(8 * (1 + 2 * BUCKETS)))

    def read(self) -> "array.array[int]":
        return array.array("q", self.path.read_bytes())

    def answered(self) -> int:
        with self.path.open("rb") as file:
            return int.from_bytes(file.read(8), "little")


def percentiles(counts: list[int]) -> list[float]:
    """Milliseconds, of a histogram of microseconds."""
    total = sum(counts)
    values: list[float] = []
    seen = 0
    for bucket, many in enumerate(counts):
        seen += many
        while len(values) < len(PERCENTS) and total and seen * 100 >= total * PERCENTS[len(values)]:
            doublings = max(0, bucket // 512 - 1)
            values.append(((bucket - doublings * 512) << doublings) / 1000)
    return values or [0.0] * len(PERCENTS)


class Producer(threading.Thread):
    """Adds tasks at the rate that the harness asks for, or up to a depth."""

    def __init__(self, tally: Tally) -> None:
        super().__init__(daemon=True)
        self.tally = tally
        self.added = 0
        self.tokens: queue.Queue[int] = queue.Queue(maxsize=1024)
        self.padding = "x" * max(0, number("JOB_PAYLOAD_BYTES", 256) - 64)
        self.calls_ms: collections.deque[float] = collections.deque(maxlen=4096)
        self.paced = (os.environ.get("PRODUCER_MODE", "fixed") == "fixed"
                      and os.environ.get("PRODUCER_PACING") == "harness")
        self.credit = 0.0
        self.credited = time.monotonic()

    def read_tokens(self) -> None:
        for line in sys.stdin:
            word, _, many = line.partition(" ")
            if word == "ENQUEUE" and int(many) > 0:
                self.tokens.put(int(many))

    def rate(self) -> float:
        with contextlib.suppress(OSError, KeyError, ValueError):
            return float(Path(os.environ["PRODUCER_RATE_CONTROL_FILE"]).read_text(encoding="utf-8"))
        return float(os.environ.get("PRODUCER_RATE", "800"))

    def depth(self) -> int:
        return self.added - self.tally.answered()

    def wanted(self) -> int:
        """How many tasks to add now; waits up to a batch's time."""
        if self.paced:
            with contextlib.suppress(queue.Empty):
                return min(BATCH_MAX, self.tokens.get(timeout=0.5))
            return 0
        if os.environ.get("PRODUCER_MODE") == "depth-target":
            room = number("TARGET_DEPTH", 1000) - self.depth()
            if room <= 0:
                time.sleep(0.0005)
            return min(BATCH_MAX, max(0, room))
        time.sleep(BATCH_S)
        now = time.monotonic()
        self.credit += self.rate() * (now - self.credited)
        self.credited = now
        return min(BATCH_MAX, int(self.credit))

    def batch(self, many: int) -> str:
        """A literal of jsonb[]."""
        at = time.time_ns() // 1000
        tasks = (f'"{{\\"i\\": {self.added + i}, \\"at\\": {at}, \\"p\\": \\"{self.padding}\\"}}"'
                 for i in range(many))
        return "{" + ",".join(tasks) + "}"

    def add(self, session: psycopg.Connection) -> None:
        while True:
            many = self.wanted()
            if many == 0:
                continue
            began = time.monotonic()
            session.execute("SELECT count(*) FROM twtasks.add_tasks('bench', %s::jsonb[])",
                            [self.batch(many)], prepare=True)
            self.calls_ms.append((time.monotonic() - began) * 1000)
            self.added += many
            self.credit -= many

    def run(self) -> None:
        if self.paced:
            threading.Thread(target=self.read_tokens, daemon=True).start()
        while True:
            try:
                with psycopg.connect(URL, autocommit=True) as session:
                    self.add(session)
            except psycopg.Error as error:
                print(f"producer: {error}", file=sys.stderr)
                time.sleep(0.1)


class Depth(threading.Thread):
    """Tasks that have not been grabbed, of all replicas."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.waiting = 0

    def run(self) -> None:
        while True:
            try:
                with psycopg.connect(URL, autocommit=True) as session:
                    while True:
                        row = session.execute("SELECT count(*) FROM twtasks.task"
                                              " WHERE status = 'SUBMITTED'").fetchone()
                        self.waiting = row[0] if row else 0
                        time.sleep(1)
            except psycopg.Error:
                time.sleep(0.1)


class Sampler:
    """One record for each metric, at multiples of SAMPLE_S on the clock."""

    def __init__(self, tally: Tally, producer: Producer, depth: Depth) -> None:
        self.tally, self.producer, self.depth = tally, producer, depth
        self.history: collections.deque[tuple[float, int, "array.array[int]"]] = collections.deque()
        self.note()

    def note(self) -> None:
        self.history.append((time.monotonic(), self.producer.added, self.tally.read()))

    def metrics(self) -> dict[str, float]:
        before = self.history[-1]
        self.note()
        now, added, tally = self.history[-1]
        while len(self.history) > 2 and now - self.history[1][0] >= WINDOW_S:
            self.history.popleft()
        first = self.history[0][2]
        since = [new - old for new, old in zip(tally, first, strict=True)]
        calls = sorted(self.producer.calls_ms) or [0.0]
        metrics = {"enqueue_rate": (added - before[1]) / (now - before[0]),
                   "completion_rate": (tally[0] - before[2][0]) / (now - before[0])}
        started, answered = since[1:BUCKETS + 1], since[BUCKETS + 1:]
        for name, counts in (("claim", started), ("subscriber", started), ("end_to_end", answered)):
            for percent, value in zip(PERCENTS, percentiles(counts), strict=True):
                metrics[f"{name}_p{percent}_ms"] = value
        for percent in PERCENTS:
            metrics[f"producer_call_p{percent}_ms"] = calls[len(calls) * percent // 100]
        if INSTANCE == 0:
            metrics["queue_depth"] = self.depth.waiting
            metrics["producer_target_rate"] = self.producer.rate()
        return metrics

    def sample(self) -> None:
        t = now_iso()
        for metric, value in self.metrics().items():
            window = SAMPLE_S if metric.endswith("_rate") else WINDOW_S if "_ms" in metric else 0
            say({"t": t, "kind": "adapter", "subject_kind": "adapter", "subject": "",
                 "metric": metric, "value": value, "window_s": window})


def die_with_us() -> None:
    """The harness kills the adapter to kill a worker."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start_sidecar(directory: Path, tally: Tally) -> subprocess.Popen[bytes]:
    config = directory / "twtasks.yaml"
    worker = json.dumps([os.environ["BENCH_WORKER"], str(tally.path),
                         os.environ.get("JOB_WORK_MS", "1")])
    config.write_text(f"postgres: {json.dumps(URL)}\nnode: bench-{INSTANCE}-{os.getpid()}\n"
                      f"handlers:\n- {{types: [bench], worker: {worker}, stuck: retry,"
                      f" prefetch: {WORKERS}, concurrency: {WORKERS}}}\n", encoding="utf-8")
    config.chmod(0o600)
    return subprocess.Popen([os.environ["BENCH_SIDECAR"], "--config", config],
                            stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=die_with_us)


def describe() -> None:
    with psycopg.connect(URL, autocommit=True) as session:
        row = session.execute("SELECT extversion FROM pg_extension"
                              " WHERE extname = 'twtasks'").fetchone()
    say({"kind": "descriptor", "event_tables": MANIFEST["event_tables"],
         "event_indexes": MANIFEST["event_indexes"], "extensions": MANIFEST["extensions"],
         "version": os.environ.get("BENCH_COMMIT", "unknown"),
         "schema_version": row[0] if row else "", "db_name": MANIFEST["db_name"],
         "started_at": now_iso()})


def main() -> None:
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: ended.append(number))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        tally = Tally(directory)
        describe()
        sidecar = start_sidecar(directory, tally)
        producer, depth = Producer(tally), Depth()
        for thread in (producer, *([depth] if INSTANCE == 0 else [])):
            thread.start()
        sampler = Sampler(tally, producer, depth)
        following = (time.time() // SAMPLE_S + 1) * SAMPLE_S
        while not ended and sidecar.poll() is None:
            time.sleep(min(0.1, max(0.001, following - time.time())))
            if time.time() >= following:
                sampler.sample()
                following += SAMPLE_S
        sidecar.terminate()
        sampler.sample()
        with contextlib.suppress(subprocess.TimeoutExpired):
            sidecar.wait(4)
        sys.exit(0 if ended else "the sidecar has ended")


main()
