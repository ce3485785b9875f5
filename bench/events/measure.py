"""Ordered events: how many a second are sent, and how soon after they are added.

	EVENTS=20000		over OBJECTS, waiting when the sidecar starts; also added while it runs
	OBJECTS=1000
	HOT=2000			events of one object, waiting, one a head
	HOT_BATCH=100000	the same, 100 a head
	LATENCIES=1000		events of OBJECTS, RATE of them a second
	RATE=200
	ROUNDS=3			the cases take turns in each
	CASES='a;b'			the names of some cases alone
	PAGE=events			of bench/results

A single object with one event a head needs a durable commit for each, one after
the other.  So each round also measures how many one session commits.
"""

import contextlib
import datetime
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import database
from harness.machine import machine

EVENTS = int(os.environ.get("EVENTS", "20000"))
OBJECTS = int(os.environ.get("OBJECTS", "1000"))
HOT = int(os.environ.get("HOT", "2000"))
HOT_BATCH = int(os.environ.get("HOT_BATCH", "100000"))
LATENCIES = int(os.environ.get("LATENCIES", "1000"))
RATE = int(os.environ.get("RATE", "200"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
DIRECTORY = Path(os.environ["BENCH_DIRECTORY"])
RESULTS = Path(__file__).parent.parent / "results" / (os.environ.get("PAGE", "events") + ".md")
ROOT = Path(__file__).parent.parent.parent
DATABASE = "bench"
TEMPLATE = "made"
ADOPT = "SELECT twtasks.adopt(NULL, hold => false)"
LOAD = os.getloadavg()[0]
Figures = dict[str, float]

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def sql(*statements: str) -> str:
    return database.run(DATABASE, *statements)


def make_template() -> None:
    database.create(TEMPLATE)
    database.run(
        TEMPLATE, "CREATE EXTENSION twtasks_events CASCADE", "SELECT twtasks_internal.make_partitions()",
        "SELECT twtasks.configure_stream(s, type => 'EVENTS', batch => b) FROM (VALUES ('one', 1), ('many', 100)) v(s, b)",
        "SELECT twtasks.configure_type('EVENTS', stuck => 'retry')", "CREATE TABLE plain (i bigint)")


def wait_until_sent(session: database.Psql, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while session.ask("SELECT EXISTS (SELECT FROM twtasks.event) OR EXISTS (SELECT FROM twtasks.task)") == "t":
        if time.monotonic() > until:
            sys.exit("the events were not sent in time: " + session.ask("SELECT o::text FROM twtasks.event_objects o LIMIT 3"))
        time.sleep(0.02)


@contextlib.contextmanager
def sidecar(trace: str = "-") -> Iterator[int]:
    """One worker process, and the sidecar's own settings."""
    tally, config, log = (DIRECTORY / name for name in ("tally", "config.yaml", "log"))
    tally.write_bytes(bytes(16))
    conninfo = f"host={os.environ['PGHOST']} user=postgres dbname={DATABASE}"
    config.write_text(json.dumps({"postgres": conninfo, "node": "bench", "handlers": [
        {"types": ["EVENTS"], "worker": [str(DIRECTORY / "worker"), str(tally), trace, "0", conninfo],
         "processes": 1}]}), encoding="utf-8")
    config.chmod(0o600)
    with log.open("wb") as errors:
        process = subprocess.Popen([ROOT / "sidecar" / "twtasksd", "--config", config], stderr=errors)
    try:
        until = time.monotonic() + 60
        while b"started as incarnation" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(log.read_text(encoding="utf-8"))
            time.sleep(0.01)
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)
        if os.environ.get("LOG"):
            print(log.read_text(encoding="utf-8"), file=sys.stderr)


def sent_in(events: int, began: float, pid: int, before: tuple[float, float, int]) -> Figures:
    """Figures of events that were sent since then."""
    took = time.monotonic() - began
    sidecar_s, server_s, written = (now - was for now, was in zip(work_of(pid), before, strict=True))
    return {"rate": events / took, "sidecar_us": sidecar_s / events * 1e6,
            "server_us": server_s / events * 1e6, "wal": written / events}


def work_of(pid: int) -> tuple[float, float, int]:
    """Processor time of the sidecar with its worker, and of the server; bytes of WAL."""
    return (database.cpu_seconds([pid]), database.cpu_seconds([database.postmaster()]),
            int(sql("SELECT pg_current_wal_insert_lsn() - '0/0'")))


def add_backlog(stream: str, events: int, objects: int) -> None:
    """Each transaction tells of 500 events, as one that has much to tell."""
    sql(f"DO $$ BEGIN FOR t IN 0..{(events - 1) // 500} LOOP PERFORM twtasks.add_event('{stream}', "
        f"'o:' || i % {objects}, '{{\"title\": \"Emma\"}}') FROM generate_series(t * 500 + 1, least(t * 500 + 500, {events})) i; "
        "COMMIT; END LOOP; END $$", "ANALYZE twtasks.event", "CHECKPOINT")
    added = int(sql("SELECT count(*) FROM twtasks.event"))
    if added != events:
        sys.exit(f"{added} of {events} events were added")


def backlog(stream: str, events: int, objects: int) -> Figures:
    add_backlog(stream, events, objects)
    with database.session(DATABASE) as session, sidecar() as pid:
        # The clock starts when the sidecar takes tasks.
        began, before = time.monotonic(), work_of(pid)
        wait_until_sent(session)
        return sent_in(events, began, pid, before)


def pgbench(statement: str, *options: str) -> None:
    path = DIRECTORY / "add.sql"
    path.write_text(statement, encoding="utf-8")
    subprocess.run(["pgbench", "-n", "-M", "prepared", "-f", path, *options, DATABASE],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def added_meanwhile() -> Figures:
    """From the first add to the last end."""
    with database.session(DATABASE) as session, sidecar() as pid:
        began, before = time.monotonic(), work_of(pid)
        pgbench(f"\\set o random(1, {OBJECTS})\n"
                f"SELECT twtasks.add_event('many', 'o:' || (:o + i) % {OBJECTS}, '{{\"title\": \"Emma\"}}') "
                "FROM generate_series(1, 10) i;", "-c", "4", "-t", str(EVENTS // 40))
        wait_until_sent(session)
        return sent_in(EVENTS, began, pid, before)


def latency() -> Figures:
    """From the statement that adds to the worker that gets it, in ms."""
    trace = DIRECTORY / "trace"
    trace.write_bytes(b"")
    with database.session(DATABASE) as session, sidecar(str(trace)):
        offset_us = (time.time_ns() - time.monotonic_ns()) / 1000
        pgbench(f"\\set o random(1, {OBJECTS})\n"
                "SELECT twtasks.add_event('one', 'o:' || :o, jsonb_build_object('i', "
                "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint));",
                "-c", "4", "-j", "1", "-t", str(LATENCIES // 4), "-R", str(RATE))
        wait_until_sent(session)
    late = sorted((int(at) / 1000 + offset_us - int(i)) / 1000 for _, i, at in map(str.split, trace.open()))
    return {"p50": statistics.median(late), "p99": late[len(late) * 99 // 100]}


def commits() -> Figures:
    """Commits of one row a second, of one session."""
    began = time.monotonic()
    pgbench("INSERT INTO plain VALUES (1);", "-t", str(HOT))
    return {"rate": HOT / (time.monotonic() - began)}


CASES: dict[str, Callable[[], Figures]] = {
    "objects": lambda: backlog("many", EVENTS, OBJECTS),
    "objects, one a head": lambda: backlog("one", EVENTS, OBJECTS),
    "added meanwhile": added_meanwhile,
    "hot, one a head": lambda: backlog("one", HOT, 1),
    "hot, 100 a head": lambda: backlog("many", HOT_BATCH, 1),
    "latency": latency,
    "commits": commits,
}

# The names of the cases on the page, and our own targets.
NAMES = {
    "objects": f"{EVENTS:,} waiting events of {OBJECTS:,} objects, up to 100 a head",
    "objects, one a head": "the same, one a head",
    "added meanwhile": f"{EVENTS:,} events of {OBJECTS:,} objects, added by four sessions, ten a transaction; adding is included",
    "hot, one a head": f"{HOT:,} waiting events of one object, one a head",
    "hot, 100 a head": f"{HOT_BATCH:,} waiting events of one object, 100 a head",
    "latency": f"{RATE} events a second of {OBJECTS:,} objects, from the statement that adds to the worker",
    "commits": "for comparison: one-row commits of one session, one after the other",
}
TARGETS = {"objects": 10000, "added meanwhile": 10000, "hot, one a head": 2000, "hot, 100 a head": 20000}
TARGET_MS = 2


def text(value: float) -> str:
    """Three digits that count."""
    return f"{float(f'{value:.3g}'):,.10g}"


def spread(values: list[float]) -> str:
    return f"{text(statistics.median(values))} ({text(min(values))} .. {text(max(values))})"


def against_target(case: str, found: dict[str, list[float]]) -> str:
    if case == "latency":
        return f"{TARGET_MS} ms: {'met' if statistics.median(found['p50']) <= TARGET_MS else '**missed**'}"
    if case not in TARGETS:
        return ""
    met = statistics.median(found["rate"]) >= TARGETS[case]
    return f"{TARGETS[case]:,}: {'met' if met else '**missed**'}"


def row(case: str, found: dict[str, list[float]]) -> list[str]:
    speed = (f"p50 {spread(found['p50'])} ms, p99 {spread(found['p99'])} ms" if case == "latency"
             else spread(found["rate"]))
    costs = ", ".join(text(statistics.median(found[name])) for name in ("sidecar_us", "server_us") if name in found)
    return [NAMES[case], speed, against_target(case, found), costs and f"{costs} µs",
            f"{text(statistics.median(found['wal']))} bytes" if "wal" in found else ""]


def write_results(found: dict[str, dict[str, list[float]]]) -> None:
    facts = machine()
    hot, plain = (found.get(case, {}).get("rate", []) for case in ("hot, one a head", "commits"))
    ratios = [a / b for a, b in zip(hot, plain, strict=True)] if len(hot) == len(plain) > 0 else []
    rows = [["case", "events/s", "our target", "processor time of sidecar and worker, server, an event", "WAL"]]
    rows += [row(case, figures) for case, figures in found.items()]
    page = "\n".join([
        "# Ordered events", "",
        f"Median (least .. most) of {ROUNDS} rounds, the cases in turn. {datetime.date.today().isoformat()}, twtasks at "
        f"{os.environ['BENCH_COMMIT']}; {facts['processors']} processors, {facts['processor']}, a disk that syncs in "
        f"{facts['sync_ms']:.2g} ms, load {LOAD:.1f} when it began and {os.getloadavg()[0]:.1f} at its end; PostgreSQL "
        f"{database.run('postgres', 'SHOW server_version').split()[0]} with default durability; one sidecar with one worker "
        "process; all of it on the same machine.", "",
        *("| " + " | ".join(cells) + " |" for cells in [rows[0], ["---"] * len(rows[0]), *rows[1:]]),
        *(["", "One object with one event a head, as part of the commits of one session in the same round: "
           f"{spread(ratios)}."] if ratios else [])]) + "\n"
    RESULTS.write_text(page, encoding="utf-8")
    print(page)


def main() -> None:
    make_template()
    names = [name for name in CASES if name in os.environ.get("CASES", ";".join(CASES)).split(";")]
    found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for number in range(ROUNDS):
        for name in names if number % 2 == 0 else reversed(names):
            with database.fresh(TEMPLATE, ADOPT):
                for figure, value in CASES[name]().items():
                    found[name].setdefault(figure, []).append(value)
            print(name, {figure: text(values[-1]) for figure, values in found[name].items()}, flush=True)
    write_results(found)


if __name__ == "__main__":
    main()
