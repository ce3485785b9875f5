"""A worker in Python: runs the tasks of a chunk of stdin at once, and writes their
answers together; or the tasks of a batch, with one answer.  For the measurement it counts, and traces starts.

	worker.py TALLY TRACE
"""

import asyncio
import json
import os
import struct
import sys
import time
from typing import Any

import uvloop

Task = dict[str, Any]


class Tally:
    """The first start in ns, and the tasks answered."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(f"{path}.{os.getpid()}", os.O_CREAT | os.O_WRONLY)
        self.first = self.handled = 0

    def write(self) -> None:
        os.pwrite(self.fd, struct.pack("qq", self.first, self.handled), 0)


class Worker:
    def __init__(self, tally: Tally, trace: int) -> None:
        self.tally = tally
        self.trace = trace
        self.answers: list[str] = []
        self.answered = 0
        self.running: set[asyncio.Task[None]] = set()

    def note_start(self, task: Task) -> None:
        if self.trace >= 0:
            line = f"{task['type']} {task['data']['i']} {time.monotonic_ns()}\n"
            os.write(self.trace, line.encode())

    async def handle(self, task: Task) -> Task:
        self.note_start(task)
        return {"result": "done"}

    async def handle_batch(self, tasks: list[Task]) -> Task:
        for task in tasks:
            self.note_start(task)
        return {"result": "done"}

    async def run(self, task: Task) -> None:
        try:
            members = await self.handle(task)
        except Exception as error:
            members = {"result": "retry", "message": str(error)}
        self.answer(1, {"id": task["id"], "version": task["version"], **members})

    async def run_batch(self, tasks: list[Task]) -> None:
        try:
            members = await self.handle_batch(tasks)
        except Exception as error:
            members = {"result": "retry", "message": str(error)}
        ids = [task["id"] for task in tasks]
        versions = [task["version"] for task in tasks]
        self.answer(len(tasks), {"ids": ids, "versions": versions, **members})

    def answer(self, tasks: int, members: Task) -> None:
        if not self.answers:
            asyncio.get_running_loop().call_soon(self.write_answers)
        self.answers.append(json.dumps(members))
        self.answered += tasks

    def write_answers(self) -> None:
        text = memoryview(("\n".join(self.answers) + "\n").encode())
        while text:
            text = text[os.write(1, text):]
        self.tally.handled += self.answered
        self.tally.write()
        self.answers.clear()
        self.answered = 0

    def take(self, line: bytes) -> None:
        task = json.loads(line)
        if "id" not in task and "tasks" not in task:
            return  # a hello
        self.tally.first = self.tally.first or time.monotonic_ns()
        started = asyncio.create_task(self.run_batch(task["tasks"]) if "tasks" in task else self.run(task))
        self.running.add(started)
        started.add_done_callback(self.running.discard)

    async def work(self) -> None:
        reader = asyncio.StreamReader(1 << 20)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        rest = b""
        while chunk := await reader.read(1 << 20):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.take(line)


def main() -> None:
    tally, trace = sys.argv[1:]
    fd = -1 if trace == "-" else os.open(trace, os.O_WRONLY | os.O_APPEND)
    uvloop.run(Worker(Tally(tally), fd).work())


main()
