#!/usr/bin/env python3
"""kind_worker.py SOCKET RECORD SEED THREADS -- a worker for the steps of kinds,
that asks the third party at SOCKET (third_party.py).

RECORD gets a line for each task that it takes up, and for each answer before that
goes to the sidecar.  It answers in all ways that a handler may: so some cancels
are heard and some are not, and what is uncertain comes as an error, as a retry, or
as the end of the process.
"""

import json
import os
import queue
import random
import socket
import sys
import threading
import time

path, record_path, seed, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
record = os.open(record_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
tasks = queue.Queue()
stdout = threading.Lock()
running = {}


def note(what, task, **members):
    data = task["data"]
    line = {"at": time.time(), "what": what, "pid": os.getpid(), "task": task["id"], "version": task["version"],
            "type": task["type"], "step": data["step"], "identifier": data["identifier"],
            "attempt": data["attempt"], **members}
    os.write(record, (json.dumps(line, sort_keys=True) + "\n").encode())


def say(members):
    with stdout:
        sys.stdout.write(json.dumps(members) + "\n")
        sys.stdout.flush()


def answer(task, **members):
    """The first answer counts: a cancelled task is answered before it ends."""
    with stdout:
        if running.pop((task["id"], task["version"]), None) is None:
            return
    note("answer", task, **members)
    say({"id": task["id"], "version": task["version"], **members})


def ask(operation, task, **members):
    """The answer of the third party; None: it is not known what happened."""
    request = {"op": operation, "identifier": task["data"]["identifier"], "attempt": task["data"]["attempt"], **members}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall((json.dumps(request) + "\n").encode())
            line = connection.makefile().readline()
            return json.loads(line) if line else None
    except OSError:
        return None


def act(task):
    key = (task.get("context") or {}).get("idempotency_key")
    said = ask("act", task, **({"key": key} if key else {}))
    return said and (said if "fault" in said else {"decision": said["decision"], "serial": said["serial"]})


def find(task):
    said = ask("find", task)
    if not said or "fault" in said:
        return said
    return {"decision": said["decision"], "serial": said["serial"]} if said["found"] else {"found": False}


def first(task):
    return ask("first", task)


def time_of(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"


def look(task):
    said = ask("look", task)
    if not said or "fault" in said:
        return said
    completed = [s for s in said["steps"] if s["state"] == "completed"]
    if completed:
        return {"look": "completed", "until": time_of(completed[0]["expires"]), "decision": completed[0]["decision"],
                "serial": completed[0]["completion"]}
    if not said["steps"]:
        return {"look": "none"}
    oldest = said["steps"][0]
    if oldest["owner"] == "us":
        return {"look": "own", "step": oldest["serial"]}
    return {"look": "blocked", "until": time_of(oldest["expires"])}


def second(task):
    begun = (task["data"].get("first") or {}).get("step")
    said = ask("second", task, **({"first": begun} if begun else {}))
    return said and (said if "fault" in said else {"decision": said["decision"], "serial": said["serial"]})


def undo(task):
    return ask("undo", task)


STEPS = {"attempt": act, "find": find, "first": first, "look": look, "second": second, "undo": undo}


def work(task):
    # started is said at once, so that the time of the task is its own
    say({"id": task["id"], "version": task["version"], "started": True})
    note("start", task)
    outcome = STEPS[task["data"]["step"]](task)
    chance = random.Random(f"{seed} {task['id']}")
    if outcome is None:
        drawn = chance.random()
        if drawn < 0.02:
            note("exit", task)
            os._exit(1)
        answer(task, result="error" if drawn < 0.7 else "retry", message="no answer")
    else:
        done = "fault" not in outcome or chance.random() < 0.5
        answer(task, result="done" if done else "error", outcome=outcome)


def serve():
    while True:
        task = tasks.get()
        try:
            work(task)
        except Exception as problem:  # a bug of the tests must show
            answer(task, result="error", message=repr(problem))
            raise


def cancelled(line):
    """Every second cancel is heard: after the others the sidecar kills us."""
    task = running.get((line["cancel"], line["version"]))
    if task and random.Random(f"{seed} cancel {task['id']}").random() < 0.5:
        answer(task, result="cancelled", message=line.get("reason"))


for _ in range(threads):
    threading.Thread(target=serve, daemon=True).start()
for text in sys.stdin:
    line = json.loads(text)
    if "cancel" in line:
        cancelled(line)
    elif "id" in line:
        running[line["id"], line["version"]] = line
        tasks.put(line)
