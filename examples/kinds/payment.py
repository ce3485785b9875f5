#!/usr/bin/env python3
"""A worker for the steps of a pessimistic kind: it finds a payment, or pays.

The setting "bank" is the URL of the bank; see bank.py."""

import json
import os
import sys
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


def ask(path, order=None):
    """Returns the bank's answer; None: it knows no such payment."""
    body = None if order is None else json.dumps(order).encode()
    try:
        with urlopen(Request(bank + path, body), timeout=5) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code == 404:
            return None
        raise


def paid(payment):
    return {"result": "done", "outcome": {"decision": "paid", "payment": payment["number"]}}


def do_step(step):
    """Any exception is an end that nobody knows: the next step is to find."""
    name, attempt = step["identifier"], step["attempt"]
    if step["step"] == "find":
        payment = ask(f"/payments/{quote(name)}?attempt={attempt}")
        return paid(payment) if payment else {"result": "done", "outcome": {"found": False}}
    return paid(ask("/payments", {"reference": name, "attempt": attempt, "amount": step["event"]["amount"]}))


def answer(task, members):
    replies.write(json.dumps({"id": task["id"], "version": task["version"], **members}) + "\n")
    replies.flush()


# Only replies go to stdout.  print() goes to stderr, and so to the log.
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

for line in sys.stdin:
    task = json.loads(line)
    if "hello" in task:
        bank = task["settings"]["bank"]
    if "id" not in task:
        continue
    answer(task, {"started": True})
    try:
        reply = do_step(task["data"])
    except Exception as error:
        reply = {"result": "error", "message": str(error)}
    answer(task, reply)
