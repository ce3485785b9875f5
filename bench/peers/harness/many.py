"""Workloads to be asked for by name: many types, many policies."""

import os

from . import database
from .burning import burn
from .run import Metrics, Run, Turn, number

TYPES = int(number("TYPES", 10_000))
TYPES_TASKS = [int(tasks) for tasks in (os.environ.get("TYPES_TASKS") or "20000 200000").split()]
POLICIES = int(number("POLICIES", 10_000))


def types(run: Run, round_number: int) -> None:
    """Burn-down of tasks of many types, and of one."""
    for tasks in TYPES_TASKS:
        for turn in run.turns("types", round_number):
            if "types_sql" in turn.peer.about:
                turn.measure(burn_types, types=TYPES, tasks=tasks)


def burn_types(turn: Turn, types: int, tasks: int) -> Metrics:
    counts = [1, types] if turn.round % 2 else [types, 1]
    found = {count: burn_so_many(turn, count, tasks) for count in counts}
    many, one = found[types], found[1]
    return {**many, "one": one["rate"], "part": many["rate"] / one["rate"],
            "one_cpu_us": one["cpu_us"]}


def burn_so_many(turn: Turn, types: int, tasks: int) -> Metrics:
    name = f"types {types} {tasks} {turn.peer.name} {turn.setting}"
    sql = turn.peer.about["types_sql"].replace("$1", str(tasks)).replace("$2", str(types))
    turn.made(name, turn.template(), lambda: database.run(name, sql))
    with turn.copy_of(name) as copy:
        # The first start waits for a look at all types: it must count.
        return burn(turn, copy, tasks, "many", turn.instances, begin="ready")


def policies(run: Run, round_number: int) -> None:
    """Burn-down and single tasks beside many policies of other types, and without."""
    for turn in run.turns("policies", round_number):
        if "policies_sql" in turn.peer.about:
            turn.measure(burn_beside_policies, policies=POLICIES)


def burn_beside_policies(turn: Turn, policies: int) -> Metrics:
    counts = [0, policies] if turn.round % 2 else [policies, 0]
    found = {count: burn_with_policies(turn, count) for count in counts}
    return {**found[policies], "without": found[0]["rate"],
            "part": found[policies]["rate"] / found[0]["rate"],
            "without_cpu_us": found[0]["cpu_us"]}


def burn_with_policies(turn: Turn, policies: int) -> Metrics:
    tasks = turn.burn_tasks()
    with turn.filled("noop", tasks) as name:
        if policies:
            database.run(name, turn.peer.about["policies_sql"].replace("$1", str(policies)))
        return burn(turn, name, tasks, instances=turn.instances)


ALL = {"types": types, "policies": policies}
