"""Parts that the drivers in Python share: see ../README.md for the contract."""

import asyncio
import dataclasses
import datetime
import io
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

SETTING = os.environ.get("BENCH_SETTING", "best")
KINDS = os.environ.get("BENCH_KINDS", "noop").split()
SLOW_SECONDS = int(os.environ.get("BENCH_SLOW_MS", "1000")) / 1000
SLOW_LIMIT = int(os.environ.get("BENCH_SLOW_LIMIT", "5"))

DEPTH = int(os.environ.get("BENCH_DEPTH", "100"))

# 0: what the setting says.
CONCURRENCY = int(os.environ.get("BENCH_CONCURRENCY", "0"))

COUNTER = """CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i"""
COUNT_ONE = "UPDATE counter SET n = n + 1 WHERE id = "

now = time.monotonic_ns


class Producer(Protocol):
    """Adds tasks by the peer's own means."""

    async def add(self, kind: str, data: dict[str, Any]) -> None: ...

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None: ...


@dataclasses.dataclass
class Peer:
    """serve runs a worker until cancelled; ready is to be called once it runs."""

    version: str
    prepare: Callable[[], Awaitable[None]]
    producer: Callable[[int], AbstractAsyncContextManager[Producer]]
    serve: Callable[[Callable[[], None]], Awaitable[None]]


class Tally:
    first = 0
    handled = 0
    trace: io.FileIO | None = None


def started(kind: str, data: dict[str, Any]) -> None:
    """Every handler calls this first ..."""
    if not Tally.first:
        Tally.first = now()
    if Tally.trace:
        Tally.trace.write(f"{kind} {data['i']} {now()}\n".encode())


def ended() -> None:
    """... and this last."""
    Tally.handled += 1


def payload(i: int, size: int) -> dict[str, Any]:
    return {"i": i, "p": "x" * max(0, size - len(f'{{"i":{i},"p":""}}'))}


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


async def report_progress() -> None:
    before = 0
    while True:
        await asyncio.sleep(0.01)
        if Tally.handled != before:
            before = Tally.handled
            say(first=Tally.first, handled=before, at=now())


async def serve(peer: Peer) -> None:
    if path := os.environ.get("BENCH_TRACE"):
        Tally.trace = io.FileIO(path, "a")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    progress = asyncio.create_task(
        stopped.wait() if os.environ.get("BENCH_QUIET") else report_progress())
    worker = asyncio.ensure_future(peer.serve(lambda: say(ready=now())))
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not stopped.is_set():
        worker.result()
        sys.exit("the worker has ended")
    progress.cancel()
    worker.cancel()
    await asyncio.wait({worker}, timeout=5)
    os._exit(0)


async def fill(producer: Producer, kind: str, tasks: int, size: int, when: str) -> None:
    later = datetime.timedelta(days=1) if when == "later" else None
    begin = now()
    for i in range(0, tasks, 1000):
        data = [payload(k, size) for k in range(i, min(tasks, i + 1000))]
        if kind == "chain":
            data = [each | {"left": DEPTH - 1} for each in data]
        await producer.add_many(kind, data, later)
    say(added=tasks, seconds=(now() - begin) / 1e9)


async def enqueue(producer: Producer, clients: int, seconds: float, size: int) -> None:
    begin = now()
    added = 0

    async def client() -> None:
        nonlocal added
        while now() < begin + seconds * 1e9:
            added += 1
            await producer.add("noop", payload(added, size))

    await asyncio.gather(*(client() for _ in range(clients)))
    say(added=added, seconds=(now() - begin) / 1e9)


async def starts() -> AsyncIterator[tuple[int, int]]:
    """Number and time of each task that a worker started; blocks the loop."""
    with open(os.environ["BENCH_TRACE"], "rb", buffering=0) as fifo:
        text = b""
        while True:
            text += fifo.read(65536)
            *lines, text = text.split(b"\n")
            for line in lines:
                kind, i, at = line.split()
                if kind == b"noop":
                    yield int(i), int(at)


async def latency(producer: Producer, tasks: int, seconds: float, size: int) -> None:
    trace = starts()
    until = now() + seconds * 1e9
    from_call, from_return = [], []
    for i in range(tasks):
        if now() > until:
            break
        call = now()
        await producer.add("noop", payload(i, size))
        returned = now()
        async for seen, at in trace:
            if seen == i:
                break
        from_call.append(at - call)
        from_return.append(at - returned)
    say(from_call_ns=from_call, from_return_ns=from_return)


async def probe(producer: Producer, tasks: int) -> None:
    missing = set(range(tasks))
    call = last = now()
    await producer.add_many("noop", [payload(i, 256) for i in missing], None)
    async for i, at in starts():
        if i in missing:
            missing.remove(i)
            last = max(last, at)
        if not missing:
            break
    say(tasks=tasks, call_ns=call, last_start_ns=last - call)


async def command(peer: Peer, name: str, arguments: list[str]) -> None:
    async with peer.producer(int(arguments[0]) if name == "enqueue" else 1) as producer:
        if name == "fill":
            when = arguments[3] if len(arguments) > 3 else "now"
            await fill(producer, arguments[0], int(arguments[1]), int(arguments[2]), when)
        elif name == "enqueue":
            await enqueue(producer, int(arguments[0]), float(arguments[1]), int(arguments[2]))
        elif name == "latency":
            await latency(producer, int(arguments[0]), float(arguments[1]), int(arguments[2]))
        elif name == "probe":
            await probe(producer, int(arguments[0]))
        else:
            sys.exit(f"unknown command: {name}")


def main(peer: Peer) -> None:
    name, arguments = sys.argv[1], sys.argv[2:]
    if name == "version":
        say(version=peer.version)
    elif name == "prepare":
        asyncio.run(peer.prepare())
    elif name == "serve":
        run = asyncio.run
        if SETTING == "best":
            import uvloop
            run = uvloop.run
        run(serve(peer))
    else:
        asyncio.run(command(peer, name, arguments))
