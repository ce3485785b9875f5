#!/usr/bin/env python3
"""Driver of twtasks: see ../README.md for what the commands mean."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tally import Tally, say

HERE = Path(__file__).resolve().parent
CONNINFO = " ".join(f"{key}={os.environ[name]}" for key, name in (
    ("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")))
ADD = "SELECT twtasks.add_task('noop', $1::jsonb)"

# Options other than the sidecar's defaults, by setting and type.
OPTIONS: dict[str, dict[str, str]] = {
    "default": {},
    "best": {
        "noop": "prefetch: 500, concurrency: 1500",
        "sql": "prefetch: 300, concurrency: 600, processes: 2",
        "chain": "prefetch: 300, concurrency: 600, processes: 2",
        "chain-worker": "processes: 8, prefetch: 32, concurrency: 256",
        "chain-reply": "prefetch: 500, concurrency: 1500",
        "exec": "concurrency: 64",
    },
    "delete": {"noop": "prefetch: 500, concurrency: 1500"},
    "node": {"noop": "prefetch: 500, concurrency: 1500"},
    "python": {"noop": "prefetch: 500, concurrency: 1500"},
    "go": {"noop": "prefetch: 500, concurrency: 1500"},
    "batch": {"noop": "batch: 500, prefetch: 2, concurrency: 2000"},
    "batch-delete": {"noop": "batch: 500, prefetch: 2, concurrency: 2000"},
    # A lost grab is a run that this rule allows: it need not be on disk first.
    "retry": {"noop": "prefetch: 500, concurrency: 1500, stuck: retry"},
}

SETTING = os.environ.get("BENCH_SETTING", "best")
NODE = HERE.parent / "lib" / "node_modules" / "node" / "bin" / "node"

# Programs in the language of a setting: the worker, and the client that adds.
WORKERS: dict[str, list[Path | str]] = {
    "node": [NODE, HERE / "worker.mjs"],
    "python": [HERE / "venv" / "bin" / "python", HERE / "worker.py"],
    "batch": [HERE / "venv" / "bin" / "python", HERE / "worker.py"],
    "batch-delete": [HERE / "venv" / "bin" / "python", HERE / "worker.py"],
    "go": [HERE / "go-worker", "worker"],
}
CLIENTS: dict[str, list[Path | str]] = {
    "node": [NODE, HERE / "client.mjs"],
    "python": [HERE / "venv" / "bin" / "python", HERE / "client.py"],
    "go": [HERE / "go-worker"],
}

PREPARE = """
CREATE EXTENSION twtasks;
SELECT twtasks_internal.make_partitions();
CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i;
CREATE FUNCTION count_one(task twtasks.task_input) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	UPDATE counter SET n = n + 1 WHERE id = (task.data->>'i')::int % 1000;
END $$;
CREATE FUNCTION add_next(task twtasks.task_input) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	IF (task.data->>'left')::int > 0 THEN
		PERFORM twtasks.add_task('chain', jsonb_set(task.data, '{left}',
			to_jsonb((task.data->>'left')::int - 1)));
	END IF;
END $$;
"""


def psql(sql: str) -> str:
    result = subprocess.run(
        ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1"],
        input=sql, text=True, stdout=subprocess.PIPE, check=True)
    return result.stdout.strip()


def handler_lines(tally: Path) -> list[str]:
    trace = os.environ.get("BENCH_TRACE") or "-"
    slow_ms = os.environ.get("BENCH_SLOW_MS", "1000")
    how = os.environ.get("BENCH_CHAIN") or "worker"
    conninfo = "-" if how == "reply" else CONNINFO
    worker = f"worker: [{HERE}/worker, {tally}, \"{trace}\", \"{slow_ms}\", \"{conninfo}\"]"
    own = ", ".join(f'"{word}"' for word in [*WORKERS.get(SETTING, []), tally, trace])
    limit = os.environ.get("BENCH_SLOW_LIMIT", "5")
    chain = "sql: public.add_next" if how == "sql" else worker
    chain_options = "chain" if how == "sql" else f"chain-{how}"
    runners = {
        "noop": f"worker: [{own}]" if SETTING in WORKERS else worker,
        "slow": f"{worker}, prefetch: {limit}, concurrency: {limit}, stuck: retry, timeout: 2h",
        "sql": "sql: public.count_one",
        "chain": chain,
        "many*": worker,
        "exec": f"command: [{os.environ.get('BENCH_PROGRAM') or '/bin/true'}]",
    }
    lines = []
    for kind, runner in runners.items():
        alike = {"chain": chain_options, "many*": "noop"}.get(kind, kind)
        options = OPTIONS[SETTING].get(alike)
        if kind == "noop" and (width := os.environ.get("BENCH_CONCURRENCY")):
            options = f"prefetch: {width}, concurrency: {width}"
        lines.append(f"  - {{types: [\"{kind}\"], {runner}{', ' + options if options else ''}}}")
    return lines


def write_config(directory: Path, tally: Path) -> Path:
    path = directory / "twtasks.yaml"
    path.write_text("\n".join([f'postgres: "{CONNINFO}"', f"node: bench{os.getpid()}", "handlers:",
                               *handler_lines(tally)]) + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def wait_ready(log: Path, sidecar: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while "incarnation" not in log.read_text(encoding="utf-8"):
        if sidecar.poll() is not None or time.monotonic() > until:
            sys.exit(f"the sidecar does not start: {log.read_text(encoding='utf-8')}")
        time.sleep(0.01)


def serve() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TWT_CLUSTER")) as name:
        directory = Path(name)
        if SETTING in ("delete", "batch-delete"):
            psql("SELECT twtasks.configure_type('noop', when_done => 'delete')")
        tally = Tally(directory)
        log = directory / "log"
        with log.open("wb") as errors:
            sidecar = subprocess.Popen([os.environ["BENCH_SIDECAR"], "--config",
                                        str(write_config(directory, tally.path))], stderr=errors)
        stopped: list[int] = []

        def stop(number: int, _frame: object) -> None:
            stopped.append(number)
            sidecar.terminate()

        signal.signal(signal.SIGTERM, stop)
        wait_ready(log, sidecar)
        say(ready=tally.now())
        tally.report(sidecar)
        if not stopped:
            sys.exit("the sidecar has gone")
        judge(sidecar.returncode, log.read_text(encoding="utf-8"))


def judge(status: int, log: str) -> None:
    """A run with a warning, such as of a handler that died, is not to count."""
    if status != 0 or re.search(r"\b(WARN|ERROR|FATAL)\b", log):
        sys.exit(f"the sidecar ended with {status} and said:\n{log}")


def fill(kind: str, tasks: str, size: str, when: str = "now") -> None:
    """1,000 tasks in each statement, a transaction each, over one connection."""
    run_after = "NULL" if when == "now" else "now() + interval '1 day'"
    sql = (f"SELECT count(*) FROM twtasks.add_tasks('{kind}', $1::jsonb[], "
           f"run_after => {run_after})")
    left = int(os.environ.get("BENCH_DEPTH", "100")) - 1
    members = [f'"left":{left},'] if kind == "chain" else []
    os.execv(HERE / "client", ["client", "fill", sql, size, tasks, "1000", *members])


def client(command: str, *arguments: str) -> None:
    os.execv(HERE / "client", ["client", command, ADD, *arguments])


def version() -> None:
    log = subprocess.run([os.environ["BENCH_SIDECAR"], "--version"],
                         capture_output=True, text=True, check=True)
    say(version=re.sub(r"^twtasksd[^0-9]*", "", log.stdout.strip()))


def main() -> None:
    command, arguments = sys.argv[1], sys.argv[2:]
    trace = os.environ.get("BENCH_TRACE", "")
    if command in ("fill", "enqueue", "latency", "probe") and SETTING in CLIENTS:
        os.execv(CLIENTS[SETTING][0], [*CLIENTS[SETTING], *sys.argv[1:]])
    if command == "prepare":
        psql(PREPARE)
    elif command == "serve":
        serve()
    elif command == "fill":
        fill(*arguments)
    elif command == "enqueue":
        client("enqueue", arguments[2], arguments[0], arguments[1])
    elif command == "latency":
        client("latency", arguments[2], arguments[0], arguments[1], trace)
    elif command == "probe":
        client("probe", "256", arguments[0], trace)
    elif command == "version":
        version()
    else:
        sys.exit(f"unknown command: {command}")


main()
