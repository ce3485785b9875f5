#!/usr/bin/env python3
"""Simulates twtasks at rates that nobody has measured: see docs/growing.md.

    simulate.py             prints the tables
    simulate.py --write     also writes them into docs/growing.md
    simulate.py --check     ends with 1 if docs/growing.md has other tables

Takes the figures of measured.json and the assumptions below. It first checks the
model against cases with a known answer. Then it compares the model with measured
cases, and only after that says what nobody has measured.
"""

import dataclasses
import json
import math
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True      # the clone stays clean

from model import Case, Cost, Costs, Result, percentile, simulate

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "growing.md"
MEASURED = json.loads((HERE / "measured.json").read_text(encoding="utf-8"))
PUBLISHED = json.loads((HERE.parent / "results" / "results.json").read_text(encoding="utf-8"))

# The costs come from these cases, and all others are compared.
SINGLE = "open, 1000/s"
BATCHED = "batches, 20000/s"
BURN = "run, keep"

# The worker's part of the time that it and the sidecar take: the profile in
# docs/decisions/performance.md, "Where the time goes in a burn-down".
WORKER = 2 / 24

# The plan assumes these; nobody measured them here.
NETWORK_US = 100            # more for a message to another machine
SYNC_US = 500               # a sync of the log's disk
BUSY_MOST = 0.7             # part of the processors, and of each process
LOG_MOST = 200e6            # bytes of log per second and database
P99_MOST = 100              # milliseconds from the add to the start
SIDECARS = (1, 2, 4)        # per database
DATABASES = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64, 80, 100, 128, 160, 200)
RATES = (1_000, 10_000, 100_000, 1_000_000)
TASKS = 5_000               # in each simulated case

Row = list[str]


def figure(what: str, name: str) -> float:
    return float(MEASURED["figures"][what][name]["median"])


# ---- Costs ----


def batches(what: str, adds: float) -> float:
    """Grabs, and as many finishes, per task; adds are commits too."""
    return (figure(what, "commits") - adds) / 2


def fitted(role: str) -> Cost:
    """A cost per batch and one per task, from a case with small batches and one with
    large batches."""
    small, large = batches(SINGLE, 1), batches(BATCHED, 1 / 100)
    few, many = figure(SINGLE, f"{role}_us"), figure(BATCHED, f"{role}_us")
    fixed = (few - many) / (small - large)
    return Cost(fixed, many - fixed * large)


def derive() -> Costs:
    bulk, daemon = figure("bulk", "server_us"), fitted("sidecar")
    grab, finish = fitted("grab"), fitted("finish")
    sweep = figure(BURN, "server_us") - grab.each - finish.each
    return Costs(
        client=Cost(figure(SINGLE, "client_us"), 0),
        add=Cost(figure(SINGLE, "adders_us") - bulk, bulk), queue=fitted("queue"),
        grab=grab, finish=finish, sidecar=Cost(daemon.fixed, daemon.each * (1 - WORKER)),
        worker=Cost(0, daemon.each * WORKER), sweep=Cost(0, sweep), hop=0)


def remote(costs: Costs) -> Costs:
    """The sidecars on other machines. On the same one the costs contain all waking."""
    return Costs(**{**vars(costs), "hop": NETWORK_US})


# ---- Comparison with what was measured ----


def sync_us() -> float:
    """How long the disk took in the middle case."""
    cases = MEASURED["figures"]
    return 1000 * statistics.median(
        figure(case, "sync_p50") for case in cases if "sync_p50" in cases[case])


def measured_case(rate: float, tasks: int, per_commit: int = 1,
                  sync: float | None = None) -> Case:
    """Everything on one machine, as it was measured."""
    return Case(rate, tasks, sync or sync_us(), processors=MEASURED["machine"]["processors"],
                clients=MEASURED["sizes"]["clients"], per_commit=per_commit, steady=True)


def compared(what: str, measured: list[float], unit: str, simulated: float) -> Row:
    middle = statistics.median(measured)
    return [what, f"{short(middle)}{spread(measured)} {unit}", f"{short(simulated)} {unit}",
            f"{simulated / middle - 1:+.0%}"]


def spread(values: list[float]) -> str:
    return "" if len(values) == 1 else f" ({short(min(values))} .. {short(max(values))})"


def published(workload: str, metric: str, **parameters: int) -> list[float]:
    """Figures of the comparison with the peers, round by round."""
    return [float(record["metrics"][metric]) for record in PUBLISHED["records"]
            if (record["peer"], record["setting"], record["workload"]) == (
                "twtasks", "best", workload) and record["parameters"] == parameters]


def comparison(costs: Costs) -> Iterator[Row]:
    """Cases that the costs were not fitted to."""
    sync = PUBLISHED["machine"]["sync_ms"] * 1000
    for rate in (500, 2000, 5000):
        found = simulate(costs, measured_case(rate, TASKS, sync=sync))
        yield compared(f"bench/results: {rate:,} tasks/s added singly: start, p50",
                       published("open", "p50", rate=rate), "ms", found.percentile(50))
    burn = simulate(as_published(costs), measured_case(0, 60_000, sync=sync))
    yield compared("bench/results: burn-down", published("burn", "rate"), "tasks/s",
                   60_000 / burn.seconds)
    yield compared("bench/results: burn-down: waits for the disk", published("burn", "commits"),
                   "per task", burn.commits)
    for what in MEASURED["figures"]:
        match = re.fullmatch(r"(open|batches), (\d+)/s", what)
        if match and what not in (SINGLE, BATCHED):
            yield own(costs, what, match[1] == "open", int(match[2]))


def as_published(costs: Costs) -> Costs:
    """With the processor time per task of the published burn-down: a processor of
    that day took longer."""
    server = statistics.median(published("burn", "server_cpu_us")) / figure(BURN, "server_us")
    worker = statistics.median(published("burn", "worker_cpu_us")) / figure(BURN, "sidecar_us")
    factors = {"grab": server, "finish": server, "sweep": server, "sidecar": worker,
               "worker": worker}
    return Costs(**{**vars(costs), **{role: Cost(cost.fixed, cost.each * factors[role])
                                      for role, cost in vars(costs).items() if role in factors}})


def own(costs: Costs, what: str, single: bool, rate: int) -> Row:
    found = simulate(costs, measured_case(rate, 4 * TASKS, 1 if single else 100))
    if single:
        return compared(f"here: {rate:,} tasks/s added singly: start, p50",
                        [figure(what, "p50")], "ms", found.percentile(50))
    return compared(f"here: {rate:,} tasks/s added by the hundred: finish, p50",
                    [figure(what, "done_p50")], "ms", percentile(found.ends, 50))


# ---- Measured costs ----


ROLES = {"adders": "the commits that add", "queue": "the session that waits",
         "grab": "grabs", "finish": "finishes", "sidecar": "sidecar and worker"}


def spent(_costs: Costs) -> Iterator[Row]:
    """Processor time per task, by rate."""
    for what in MEASURED["figures"]:
        match = re.fullmatch(r"(open|batches), (\d+)/s", what)
        if match:
            used = [figure(what, f"{role}_us") for role in ROLES]
            yield [f"{int(match[2]):,}, {'singly' if match[1] == 'open' else 'by the hundred'}",
                   *map(short, used), short(sum(used)), short(sum(used) * int(match[2]) / 1e6)]


PROCESSES = {"sidecar": ("the daemon `twtasksd`", 1), "grab": ("the two sessions that grab", 2),
             "finish": ("the session that finishes", 1)}


def processes(costs: Costs) -> Iterator[Row]:
    """How far each process of one sidecar goes by its processor time alone."""
    for role, (name, number) in PROCESSES.items():
        cost: Cost = vars(costs)[role]
        yield [name, f"{short(cost.fixed)} µs", f"{short(cost.each)} µs",
               f"{short(number * 1e6 / cost.each)} tasks/s"]


# ---- The plan ----


def planned(rate: float, per_commit: int, processors: int, sidecars: int) -> Case:
    """One database with its share of the rate, the sidecars on other machines."""
    return Case(rate, max(TASKS, 50 * per_commit), SYNC_US,
                processors, sidecars, per_commit, clients=10**6, in_flight=5_000, shared=False)


def log_bytes(per_commit: int, kept: str) -> float:
    """Per task: its share of a commit, and what adding and running it writes."""
    single = figure("commit with a task", "wal_bytes") - figure("commit", "wal_bytes")
    return (single if per_commit == 1 else figure("bulk", "wal_bytes")) + figure(
        f"run, {kept}", "wal_bytes")


def parts(costs: Costs, found: Result, case: Case) -> dict[str, float]:
    """How much of each limit a database uses. A session that is busy takes larger
    batches, so what bounds it is the time that each task takes."""
    share = case.rate / case.sidecars / 1e6
    return {"processors": found.busy / BUSY_MOST,
            "log": case.rate * log_bytes(case.per_commit, "delete") / LOG_MOST,
            "daemon": share * costs.sidecar.each / BUSY_MOST,
            "grab sessions": share * costs.grab.each / 2 / BUSY_MOST,
            "finish session": share * costs.finish.each / BUSY_MOST}


@dataclasses.dataclass
class Found:
    """The fewest databases that hold a rate, with the fewest sidecars for each."""

    databases: int
    case: Case
    result: Result
    parts: dict[str, float]


def least(costs: Costs, rate: int, per_commit: int, processors: int) -> Found | None:
    for databases in DATABASES:
        for sidecars in SIDECARS:
            case = planned(rate / databases, per_commit, processors, sidecars)
            if case.rate * cpu_us(costs, per_commit) > 1e6 * processors * BUSY_MOST:
                continue        # more work than processors, no need to simulate
            result = simulate(remote(costs), case)
            used = parts(costs, result, case)
            if max(used.values()) <= 1 and result.percentile(99) <= P99_MOST:
                return Found(databases, case, result, used)
    return None


def cpu_us(costs: Costs, per_commit: int) -> float:
    """The server's time for a task in batches as large as can be."""
    return (costs.add.of(per_commit) / per_commit + costs.queue.each + costs.grab.each
            + costs.finish.each)


def plan(costs: Costs) -> Iterator[Row]:
    for rate in RATES:
        for per_commit in (1, 100):
            for processors in (8, 32):
                head = [f"{rate:,}", str(per_commit), str(processors)]
                found = least(costs, rate, per_commit, processors)
                yield head + (found_row(found) if found else [f"over {DATABASES[-1]}"] + 5 * [""])


def found_row(found: Found) -> Row:
    case, result = found.case, found.result
    nearest = max(found.parts, key=lambda part: found.parts[part])
    return [str(found.databases), str(case.sidecars), short(result.percentile(50)),
            f"{case.rate / case.per_commit:,.0f}",
            short(case.rate * log_bytes(case.per_commit, "delete") / 1e6),
            f"{nearest}, {found.parts[nearest]:.0%}"]


def kept(_costs: Costs) -> Iterator[Row]:
    """Log and history per day, for each rate and each when_done."""
    for rate in RATES:
        yield [f"{rate:,}", *(f"{short(rate * log_bytes(100, k) / 1e6)} MB/s, "
                              f"{short(rate * 86400 * figure(f'run, {k}', 'kept_bytes') / 1e9)} GB"
                              for k in ("keep", "clear", "delete"))]


# ---- The page ----

TABLES = {
    "comparison": (["case", "measured", "simulated", "error"], comparison),
    "costs": (["tasks/s", *ROLES.values(), "together, µs", "processors in use"], spent),
    "processes": (["process", "per batch", "per task in it", "computed end"], processes),
    "plan": (["tasks/s", "tasks per commit", "processors of a database", "databases",
              "sidecars for each", "start, p50 in ms", "commits/s that add, in each",
              "log of each, MB/s", "nearest to its limit"], plan),
    "kept": (["tasks/s", "keep", "clear", "delete"], kept)}


def short(value: float) -> str:
    """Two digits that count."""
    if value == 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, 1 - math.floor(math.log10(abs(value)))):,.{digits}f}"


def table(heads: Row, rows: Iterator[Row]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written(page: str, tables: dict[str, str]) -> str:
    for name, text in tables.items():
        page, found = re.subn(
            rf"(<!-- simulated: {name} -->\n).*?(<!-- end -->)",
            lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page, flags=re.DOTALL)
        assert found == 1, f"docs/growing.md has no place for {name}"
    return page


# ---- The model checks itself ----


def check_model() -> None:
    """Cases with a known answer."""
    free, none = Cost(0, 0), 0.0
    idle = Costs(free, free, free, free, free, free, free, free, 0)
    # One server, arrivals at random: the mean time in a queue M/D/1.
    busy = Costs(**{**vars(idle), "worker": Cost(0, 100)})
    found = simulate(busy, Case(5_000, 20_000, none, clients=10**6, shared=False))
    mean, wanted = sum(found.starts) / len(found.starts), 0.1 + 0.1 * 0.5 / (2 * (1 - 0.5))
    assert abs(mean - wanted) < 0.01, f"a queue takes {mean:.3f} ms, not {wanted:.3f}"
    # Half of the work that one processor can do.
    found = simulate(Costs(**{**vars(idle), "add": Cost(100, 0)}),
                     Case(5_000, 20_000, none, processors=1, steady=True))
    assert abs(found.busy - 0.5) < 0.01, f"the processor is busy {found.busy:.0%}, not 50%"
    # Nothing but the disk: a task starts after two syncs.
    found = simulate(idle, Case(10, 100, 1000.0))
    assert abs(found.percentile(50) - 2) < 1e-6, found.percentile(50)
    # A burn-down by one session takes the time of its tasks.
    found = simulate(Costs(**{**vars(idle), "finish": Cost(0, 10)}), Case(0, 10_000, none))
    assert abs(found.seconds - 0.1) < 0.001, found.seconds
    again = [simulate(busy, Case(2_000, 500, none, seed=7)).starts for _ in range(2)]
    assert again[0] == again[1], "equal seeds differ"


def main() -> None:
    check_model()
    costs = derive()
    tables = {name: table(heads, rows(costs)) for name, (heads, rows) in TABLES.items()}
    if "--check" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        if written(page, tables) != page:
            sys.exit("docs/growing.md: its tables are not those of bench/growing/simulate.py")
        return
    print("\n\n".join([str(costs), *tables.values()]))
    if "--write" in sys.argv:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


main()
