"""Driver of DBOS Transact: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import os
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable
from typing import Any

import common
import psycopg
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from dbos import DBOS, DBOSClient, DBOSConfig
from psycopg.types.json import Json
from psycopg_pool import AsyncConnectionPool

# It has no call for many: its function in SQL runs for each row of one statement.
ENQUEUE = """SELECT dbos.enqueue_workflow(%s, %s, ARRAY[data], delay_until_epoch_ms => %s)
    FROM unnest(%s::json[]) data"""
# Its default has no limit: a worker takes all workflows that wait.
OPTIONS: dict[str, Any] = {}
if SETTING == "best":
    OPTIONS = {"worker_concurrency": CONCURRENCY or 100, "polling_interval_sec": 0.01}

pool = AsyncConnectionPool(min_size=1, max_size=10, open=False)


def url() -> str:
    place = urllib.parse.urlencode({"host": os.environ["PGHOST"], "port": os.environ["PGPORT"]})
    name = urllib.parse.quote(os.environ["PGDATABASE"])
    return f"postgresql+psycopg://{os.environ['PGUSER']}@/{name}?{place}"


def queue_of(kind: str) -> str:
    return kind if kind in ("slow", "idle") else "default"


@DBOS.workflow(name="noop")
async def noop(data: dict[str, Any]) -> None:
    started("noop", data)
    ended()


@DBOS.workflow(name="slow")
async def slow(data: dict[str, Any]) -> None:
    started("slow", data)
    await asyncio.sleep(SLOW_SECONDS)
    ended()


@DBOS.step(name="count")
async def count(i: int) -> None:
    await pool.open()
    async with pool.connection() as connection:
        await connection.execute(common.COUNT_ONE + "%s", [i])


@DBOS.workflow(name="sql")
async def sql(data: dict[str, Any]) -> None:
    started("sql", data)
    await count(data["i"] % 1000)
    ended()


@DBOS.workflow(name="chain")
async def chain(data: dict[str, Any]) -> None:
    started("chain", data)
    if data["left"] > 0:
        await DBOS.enqueue_workflow_async("default", chain, data | {"left": data["left"] - 1})
    ended()


def launch() -> None:
    """Each process is an executor of its own, all of one version."""
    config: DBOSConfig = {
        "name": "bench", "system_database_url": url(), "log_level": "ERROR",
        "executor_id": str(os.getpid()), "application_version": "1"}
    DBOS(config=config)
    DBOS.launch()


def work() -> None:
    launch()
    DBOS.register_queue("default", on_conflict="always_update", **OPTIONS)
    if "slow" in KINDS:
        limited = OPTIONS | {"worker_concurrency": SLOW_LIMIT}
        DBOS.register_queue("slow", on_conflict="always_update", **limited)


async def serve(ready: Callable[[], None]) -> None:
    await asyncio.to_thread(work)
    ready()
    await asyncio.Event().wait()


class Adder:
    """Its client for one workflow."""

    def __init__(self, client: DBOSClient) -> None:
        self.client = client

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.client.enqueue_async(
            {"workflow_name": kind, "queue_name": queue_of(kind)}, data)

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        due = int((time.time() + later.total_seconds()) * 1000) if later else None
        async with await psycopg.AsyncConnection.connect(autocommit=True) as connection:
            await connection.execute(
                ENQUEUE, [kind, queue_of(kind), due, [Json(each) for each in data]])


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    client = DBOSClient(system_database_url=url(), system_database_pool_size=clients)
    yield Adder(client)
    client.destroy()


def install() -> None:
    launch()
    DBOS.destroy()
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(common.COUNTER)


async def prepare() -> None:
    await asyncio.to_thread(install)


common.main(common.Peer(importlib.metadata.version("dbos"), prepare, producer, serve))
