"""A queueing model of one database, its sidecars and the sessions that add tasks.

A process does one thing at a time, and needs a processor for it. Processors serve
their queue in order. The log is one disk: a sync serves all commits that wait when
it begins. Each step of a task's life costs its process a fixed time per batch, and
a time per task in it; a batch is whatever has gathered while the step was busy.
Times are in microseconds. Equal seeds give equal results.
"""

import dataclasses
import heapq
import random
from collections import deque
from collections.abc import Callable

GRAB_MAX = 300
FINISH_MAX = 500
TRIGGERS_MAX = 1000
SWEEP_ROWS = 5000

Action = Callable[[], None]


@dataclasses.dataclass(frozen=True)
class Cost:
    """Processor time for each batch, and for each task in it."""

    fixed: float
    each: float

    def of(self, tasks: int) -> float:
        return self.fixed + self.each * tasks


@dataclasses.dataclass(frozen=True)
class Costs:
    """Processor time by process; hop is the time between a message and the moment
    when its reader runs."""

    client: Cost
    add: Cost
    queue: Cost
    grab: Cost
    finish: Cost
    sidecar: Cost
    worker: Cost
    sweep: Cost
    hop: float


@dataclasses.dataclass(frozen=True)
class Case:
    """One simulated run. rate is tasks per second, and 0 for a burn-down of a backlog
    of so many tasks. sync is the time that the disk takes."""

    rate: float
    tasks: int
    sync: float
    processors: int = 2
    sidecars: int = 1
    per_commit: int = 1
    clients: int = 8
    in_flight: int = 1500
    steady: bool = False
    shared: bool = True         # sidecars and clients use the database's processors
    seed: int = 1


@dataclasses.dataclass
class Result:
    """Times of tasks in milliseconds: from when each was due to its start, and from
    its add to its end."""

    starts: list[float]
    ends: list[float]
    seconds: float
    busy: float                     # part of the database's processors
    commits: float                  # waits for the disk, per task

    def percentile(self, percent: float) -> float:
        return percentile(self.starts, percent)


def percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


class World:
    """The clock and what happens next."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self.events: list[tuple[float, int, Action]] = []
        self.number = 0

    def after(self, delay: float, action: Action) -> None:
        self.number += 1
        heapq.heappush(self.events, (self.now + delay, self.number, action))

    def run(self) -> None:
        while self.events:
            self.now, _, action = heapq.heappop(self.events)
            action()


class Processors:
    """Processors with one queue."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.idle = world, number
        self.waiting: deque[tuple[float, Action]] = deque()
        self.used = 0.0

    def use(self, cost: float, done: Action) -> None:
        if self.idle == 0:
            self.waiting.append((cost, done))
            return
        self.idle -= 1
        self._begin(cost, done)

    def _begin(self, cost: float, done: Action) -> None:
        self.used += cost
        self.world.after(cost, lambda: self._end(done))

    def _end(self, done: Action) -> None:
        if self.waiting:
            self._begin(*self.waiting.popleft())
        else:
            self.idle += 1
        done()


class Log:
    """One sync at a time; it serves everybody who waits when it begins."""

    def __init__(self, world: World, sync: float) -> None:
        self.world, self.sync = world, sync
        self.waiting: list[Action] = []
        self.working = False
        self.commits = 0

    def flush(self, done: Action) -> None:
        self.commits += 1
        self.waiting.append(done)
        if not self.working:
            self._begin()

    def _begin(self) -> None:
        served, self.waiting, self.working = self.waiting, [], True
        self.world.after(self.sync, lambda: self._end(served))

    def _end(self, served: list[Action]) -> None:
        self.working = False
        if self.waiting:
            self._begin()
        for done in served:
            done()


class Process:
    """Does one thing at a time: takes a processor, and may then wait for the log."""

    def __init__(self, processors: Processors, log: Log | None = None) -> None:
        self.processors, self.log = processors, log
        self.todo: deque[tuple[float, Action]] = deque()
        self.working = False

    @property
    def idle(self) -> bool:
        return not self.working and not self.todo

    def do(self, cost: float, done: Action) -> None:
        self.todo.append((cost, done))
        if not self.working:
            self._next()

    def _next(self) -> None:
        self.working = True
        cost, done = self.todo.popleft()
        if self.log:
            log = self.log
            self.processors.use(cost, lambda: log.flush(lambda: self._end(done)))
        else:
            self.processors.use(cost, lambda: self._end(done))

    def _end(self, done: Action) -> None:
        self.working = False
        done()
        if self.todo and not self.working:
            self._next()


class Sidecar:
    """The daemon with its worker and its sessions; a task is the time when it was due."""

    def __init__(self, system: "System") -> None:
        self.system, self.costs = system, system.costs
        self.daemon = Process(system.others)
        self.worker = Process(system.others)
        self.queue = Process(system.server)
        self.grabs = [Process(system.server, system.log) for _ in range(2)]
        self.finishes = Process(system.server, system.log)
        self.waits = True
        self.to_grab: deque[float] = deque()
        self.to_finish: deque[float] = deque()
        self.in_flight = 0

    def take(self, triggers: list[float]) -> None:
        """The session that waits for triggers has some."""
        self.waits = False
        n = len(triggers)
        self.queue.do(self.costs.queue.of(n), lambda: self._send(
            self.daemon, self.costs.sidecar.of(n) / 3, lambda: self._taken(triggers)))

    def _send(self, to: Process, cost: float, done: Action) -> None:
        self.system.world.after(self.costs.hop, lambda: to.do(cost, done))

    def _taken(self, triggers: list[float]) -> None:
        self.add(triggers)
        self.waits = True
        self.system.offer()

    def add(self, triggers: list[float]) -> None:
        self.to_grab.extend(triggers)
        self.grab()

    def grab(self) -> None:
        """The second session works only when the first is full."""
        for number, session in enumerate(self.grabs):
            n = min(len(self.to_grab), GRAB_MAX, self.system.case.in_flight - self.in_flight)
            if n <= 0 or number == 1 and n < GRAB_MAX:
                return
            if session.idle:
                self._grab_by(session, [self.to_grab.popleft() for _ in range(n)])

    def _grab_by(self, session: Process, batch: list[float]) -> None:
        n = len(batch)
        self.in_flight += n
        self.system.world.after(self.costs.hop, lambda: session.do(
            self.costs.grab.of(n), lambda: self._grabbed(batch)))

    def _grabbed(self, batch: list[float]) -> None:
        n = len(batch)
        self._send(self.daemon, self.costs.sidecar.of(n) / 3, lambda: self._send(
            self.worker, self.costs.worker.of(n), lambda: self._ran(batch)))
        self.grab()

    def _ran(self, batch: list[float]) -> None:
        self.system.started(batch)
        n = len(batch)
        self._send(self.daemon, self.costs.sidecar.of(n) / 3, lambda: self._answered(batch))

    def _answered(self, batch: list[float]) -> None:
        self.to_finish.extend(batch)
        self.finish()

    def finish(self) -> None:
        n = min(len(self.to_finish), FINISH_MAX)
        if n == 0 or not self.finishes.idle:
            return
        batch = [self.to_finish.popleft() for _ in range(n)]
        self.finishes.do(self.costs.finish.of(n), lambda: self._finished(batch))

    def _finished(self, batch: list[float]) -> None:
        self.in_flight -= len(batch)
        self.system.finished(batch)
        self.grab()
        self.finish()


class System:
    """A database with its sidecars, and sessions that add at a rate."""

    def __init__(self, costs: Costs, case: Case) -> None:
        self.costs, self.case = costs, case
        self.world = World(case.seed)
        self.server = Processors(self.world, case.processors)
        self.others = self.server if case.shared else Processors(self.world, 10**6)
        self.log = Log(self.world, case.sync)
        self.sidecars = [Sidecar(self) for _ in range(case.sidecars)]
        self.ring: deque[float] = deque()
        self.due: deque[float] = deque()
        self.idle_clients = case.clients
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.done = 0
        self.last = 0.0

    def run(self) -> Result:
        if self.case.rate > 0:
            self._arrive(self.case.tasks)
        else:
            self._sweep(self.case.tasks)
        self.world.run()
        seconds = self.last / 1e6
        assert self.done == self.case.tasks, f"{self.done} of {self.case.tasks} tasks are done"
        return Result(self.starts, self.ends, seconds,
                      self.server.used / (self.last * self.case.processors),
                      self.log.commits / self.done)

    def _arrive(self, left: int) -> None:
        if left <= 0:
            return
        n = min(self.case.per_commit, left)
        gap = n * 1e6 / self.case.rate
        if not self.case.steady:
            gap = self.world.random.expovariate(1 / gap)
        self.world.after(gap, lambda: self._arrived(n, left - n))

    def _arrived(self, n: int, left: int) -> None:
        self.due.append(self.world.now)
        self._arrive(left)
        self._add(n)

    def _add(self, n: int) -> None:
        if not self.due or self.idle_clients == 0:
            return
        self.idle_clients -= 1
        due = self.due.popleft()
        self.others.use(self.costs.client.of(n), lambda: self.server.use(
            self.costs.add.of(n), lambda: self.log.flush(lambda: self._committed(due, n))))

    def _committed(self, due: float, n: int) -> None:
        self.ring.extend([due] * n)
        self.offer()
        self.idle_clients += 1
        self._add(n)

    def offer(self) -> None:
        """Triggers go to sidecars that wait."""
        for sidecar in self.sidecars:
            if not self.ring:
                return
            if sidecar.waits:
                n = min(len(self.ring), TRIGGERS_MAX)
                sidecar.take([self.ring.popleft() for _ in range(n)])

    def _sweep(self, left: int) -> None:
        """The control session of each sidecar reads the table in turn."""
        for number, sidecar in enumerate(self.sidecars):
            share = left // len(self.sidecars) + (number < left % len(self.sidecars))
            self._sweep_by(sidecar, Process(self.server), share)

    def _sweep_by(self, sidecar: Sidecar, control: Process, left: int) -> None:
        if left == 0:
            return
        n = min(left, SWEEP_ROWS)

        def swept() -> None:
            sidecar.add([0.0] * n)
            self._sweep_by(sidecar, control, left - n)

        control.do(self.costs.sweep.of(n), swept)

    def started(self, batch: list[float]) -> None:
        self.starts.extend((self.world.now - due) / 1000 for due in batch)

    def finished(self, batch: list[float]) -> None:
        self.ends.extend((self.world.now - due) / 1000 for due in batch)
        self.done += len(batch)
        self.last = self.world.now


def simulate(costs: Costs, case: Case) -> Result:
    return System(costs, case).run()
