#!/usr/bin/env python3
"""Driver of the bare prototype: see ../README.md for what the commands mean."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tally import Tally, say

HERE = Path(__file__).resolve().parent
OURS = Path(os.environ["BENCH_CACHE"]) / "twtasks"
BATCH = "300"

# Finished rows have no index: nothing here looks for one.
PREPARE = """
CREATE TABLE live (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version int NOT NULL
    DEFAULT 0, status "char" NOT NULL DEFAULT 'S', data jsonb) WITH (fillfactor = 50);
CREATE TABLE archive (id bigint NOT NULL, version int NOT NULL, finished timestamptz NOT NULL,
    data jsonb);
"""
ADD = "INSERT INTO live (data) SELECT unnest($1::jsonb[])"


def prepare() -> None:
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"], input=PREPARE, text=True,
                   check=True)


def serve() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TWT_CLUSTER")) as directory:
        tally = Tally(Path(directory))
        engine = subprocess.Popen(
            [HERE / "bare", BATCH, OURS / "worker", tally.path, "-", "0", ""],
            stdout=subprocess.PIPE, text=True)
        stopped: list[int] = []

        def stop(number: int, _frame: object) -> None:
            stopped.append(number)
            engine.terminate()

        signal.signal(signal.SIGTERM, stop)
        assert engine.stdout
        if engine.stdout.readline() != "ready\n":
            sys.exit("the prototype does not start")
        say(ready=tally.now())
        tally.report(engine)
        if not stopped:
            sys.exit("the prototype has gone")


def main() -> None:
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "prepare":
        prepare()
    elif command == "serve":
        serve()
    elif command == "fill":
        os.execv(OURS / "client", ["client", "fill", ADD, arguments[2], arguments[1], "1000"])
    elif command == "version":
        say(version="-")
    else:
        sys.exit(f"unknown command: {command}")


main()
