"""The price of a task for the transaction that adds it, beside other transactions."""

import subprocess
import tempfile

from . import database
from .peers import Failure
from .run import Metrics, Run, Turn, number
from .stats import percentile
from .workloads import task_statement

SESSIONS = int(number("SESSIONS", 100))

LEDGER = """CREATE TABLE ledger (id bigserial PRIMARY KEY, account int NOT NULL,
    amount numeric NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
ENTRY = "INSERT INTO ledger (account, amount) VALUES (7, 12.50)"


def with_payload(statement: str, size: int = 256) -> str:
    head = '{"i":0,"p":""}'
    return statement.replace("$1", "'" + head[:-2] + "x" * (size - len(head)) + "\"}'")


def pgbench(name: str, statements: list[str], clients: int, seconds: float) -> float:
    """Transactions per second; each is sent at once and waits for one answer."""
    lines = ["\\startpipeline", "BEGIN;", *(f"{' '.join(s.split())};" for s in statements),
             "COMMIT;", "\\endpipeline"]
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\n".join(lines) + "\n")
        script.flush()
        result = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(2, clients)),
             "-T", str(max(1, round(seconds))), "-f", script.name, name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith("tps = ") and result.returncode == 0 and "failed" not in result.stderr:
            return float(line.split()[2])
    raise Failure(result.stderr.strip()[-600:] or f"no transaction in {seconds:g} s")


def commits(run: Run, round_number: int) -> None:
    """Commits of a row of the caller's, with and without a task in each."""
    for clients in run.clients:
        for turn in run.turns("commits", round_number):
            turn.measure(with_and_without, clients=clients)


def with_and_without(turn: Turn, clients: int) -> Metrics:
    """Each rate in a fresh database; the next round has the opposite order.  Most
    clients also commit the same row in an ordinary table, and nothing."""
    row = turn.peer.about["task_sql"].get("row")
    with turn.empty() as name:
        add = with_payload(task_statement(turn, turn.environment(name)))
    kinds = {"rate": [ENTRY, add], "plain": [ENTRY]}
    if row and clients == max(turn.run.clients):
        kinds |= {"row": [ENTRY, with_payload(row["statement"])], "nothing": ["SELECT 1"]}
    order = list(kinds) if turn.round % 2 else list(kinds)[::-1]
    found = {kind: rate_alone(turn, kinds[kind], clients) for kind in order}
    parts = {"plain": "part", "row": "part_of_row", "nothing": "part_of_nothing"}
    return {**found, **{part: found["rate"] / found[kind]
                        for kind, part in parts.items() if kind in found}}


def rate_alone(turn: Turn, statements: list[str], clients: int) -> float:
    with turn.empty() as name:
        database.run(name, LEDGER, *prepare_row(turn))
        return pgbench(name, statements, clients, turn.run.seconds)


def prepare_row(turn: Turn) -> list[str]:
    row = turn.peer.about["task_sql"].get("row")
    return [row["prepare"]] if row else []


def first_of_session(run: Run, round_number: int) -> None:
    """The first statement of new sessions: a task, and the same row in a table."""
    for turn in run.turns("first", round_number):
        if prepare_row(turn):
            turn.measure(first_statement, sessions=SESSIONS)


def first_statement(turn: Turn, sessions: int) -> Metrics:
    """From the call to its return, commit included; the sessions take turns."""
    with turn.empty() as name:
        database.run(name, *prepare_row(turn))
        add = with_payload(task_statement(turn, turn.environment(name)))
        # A plain statement: the first use of each function costs time, too.
        row = with_payload(turn.peer.about["task_sql"]["row"]["first"])
        times = first_ms(name, [add, row] * sessions)
    task, plain = (percentile(sorted(times[k::2]), 50) for k in (0, 1))
    return {"task_ms": task, "row_ms": plain, "more_ms": task - plain}


def first_ms(name: str, statements: list[str]) -> list[float]:
    """Each statement in a session of its own, one after another."""
    script = "\\timing on\n" + "".join(f"\\c -\n{sql};\n" for sql in statements)
    said = subprocess.run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", name],
                          input=script, stdout=subprocess.PIPE, text=True, check=True).stdout
    times = [float(line.split()[1]) for line in said.splitlines() if line.startswith("Time: ")]
    if len(times) != len(statements):
        raise Failure(f"{len(times)} sessions were timed instead of {len(statements)}")
    return times


ALL = {"commits": commits, "first": first_of_session}
