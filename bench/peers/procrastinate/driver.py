"""Driver of Procrastinate: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import common
import procrastinate
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

# As many connections as there are clients that add at once.
connections = int(sys.argv[2]) if sys.argv[1] == "enqueue" else 20
app = procrastinate.App(connector=procrastinate.PsycopgConnector(
    min_size=min(4, connections), max_size=connections))


@app.task(name="noop")
async def noop(**data: Any) -> None:
    started("noop", data)
    ended()


@app.task(name="slow", queue="slow")
async def slow(**data: Any) -> None:
    started("slow", data)
    await asyncio.sleep(SLOW_SECONDS)
    ended()


@app.task(name="idle")
async def idle(**_data: Any) -> None:
    """Only ever waits."""


@app.task(name="sql")
async def sql(**data: Any) -> None:
    started("sql", data)
    await app.connector.execute_query_async(common.COUNT_ONE + "%(id)s", id=data["i"] % 1000)
    ended()


@app.task(name="chain")
async def chain(**data: Any) -> None:
    started("chain", data)
    if data["left"] > 0:
        await chain.defer_async(**data | {"left": data["left"] - 1})
    ended()


async def serve(ready: Callable[[], None]) -> None:
    """It has no limit per kind: where slow ones must be limited, the default is
    one worker with that many at once, and the best a second worker for them."""
    workers: list[dict[str, Any]] = [{}]
    if SETTING == "best":
        workers[0]["concurrency"] = CONCURRENCY or 50
    if "slow" in KINDS and SETTING == "best":
        workers[0]["queues"] = ["default"]
        workers.append({"queues": ["slow"], "concurrency": SLOW_LIMIT})
    elif "slow" in KINDS:
        workers = [{"concurrency": SLOW_LIMIT}]
    async with app.open_async():
        ready()
        await asyncio.gather(*(app.run_worker_async(install_signal_handlers=False, **options)
                               for options in workers))


class Adder:
    """One statement for one job, or for a list of them."""

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await app.tasks[kind].defer_async(**data)

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        when = {"schedule_in": {"seconds": int(later.total_seconds())}} if later else {}
        await app.tasks[kind].configure(**when).batch_defer_async(*data)


@contextlib.asynccontextmanager
async def producer(_clients: int) -> AsyncIterator[Adder]:
    async with app.open_async():
        yield Adder()


async def prepare() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await app.connector.execute_query_async(common.COUNTER.split(";")[0])
        await app.connector.execute_query_async(common.COUNTER.split(";")[1])


common.main(common.Peer(importlib.metadata.version("procrastinate"), prepare, producer, serve))
