#!/usr/bin/env python3
"""third_party.py SOCKET LEDGER OPTIONS -- a third party of the tests, such as a
bank, that keeps its own books and fails at random.

It listens at the Unix socket SOCKET.  A request is a line of JSON, and so is the
answer.  LEDGER gets a line for each call and each effect, and is never read here.
OPTIONS is a JSON object:

    seed             of all random choices
    fence            refuses a call whose attempt is lower than one that it has seen
                     for this identifier
    forgetful        acts again for a key that it has seen
    lifetime         seconds until a first step expires
    rivals           share of identifiers for which another party acts too, in two
                     steps like us
    faults           share of calls for each fault: OPERATION.FAULT or FAULT, see
                     FAULTS below
    slow, short      seconds: [least, most] of the long and the short delays
    blind            seconds for which find does not see a completed action

Operations, with the members identifier and attempt:

    act              does the action; with a key it does it once, and knows no fence
    find             the action that was completed for the identifier
    first            begins the action: makes a first step of our own
    look             the steps that exist, the oldest first
    second           completes the first step that is named by "first", or our
                     oldest one
    undo             removes our first steps that are not completed
    set              changes the members of "options"

An answer has "fault" when nothing was done, for sure.  A connection that closes
without an answer says nothing.
"""

import json
import os
import random
import socketserver
import sys
import threading
import time

FAULTS = {
    "drop_request": "closes the connection before it does anything",
    "refuse": "answers with a fault",
    "late": "waits long before it does it",
    "early": "waits a little before it does it",
    "slow": "does it, and waits long before it answers",
    "drop_reply": "does it, and closes the connection",
    "twice": "does it twice, as a network that repeats a request, if it has a key",
}
REASONS = ("declined", "busy", "no_funds")


class Hangup(Exception):
    """No answer: the connection is closed."""


class Ledger:
    """The books: lines in the order in which they were written."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.lock = threading.Lock()
        self.number = 0

    def write(self, what, **members):
        with self.lock:
            self.number += 1
            line = {"number": self.number, "at": time.time(), "what": what, **members}
            os.write(self.file, (json.dumps(line, sort_keys=True) + "\n").encode())
            os.fdatasync(self.file)
            return self.number


class Chance:
    """Random choices that depend on the seed and on the call, not on the time."""

    def __init__(self, options):
        self.options = options
        self.calls = {}

    def of_call(self, operation, identifier):
        self.calls[operation, identifier] = number = self.calls.get((operation, identifier), 0) + 1
        return random.Random(f"{self.options['seed']} {operation} {identifier} {number}")

    def fault(self, chance, operation):
        shares = self.options.get("faults", {})
        drawn = chance.random()
        for fault in FAULTS:
            drawn -= shares.get(f"{operation}.{fault}", shares.get(fault, 0))
            if drawn < 0:
                return fault
        return None


class Account:
    """All that the third party knows of an identifier."""

    def __init__(self):
        self.highest = 0  # attempt, for the fence
        self.done = []  # completed actions
        self.keys = {}
        self.steps = []  # first steps, in order of age
        self.has_rival = None


class ThirdParty:
    def __init__(self, ledger, options):
        self.ledger = ledger
        self.options = options
        self.chance = Chance(options)
        self.accounts = {}
        self.lock = threading.Lock()
        self.serial = 0

    # ---- effects, under the lock ----

    def effect(self, what, request, **members):
        self.serial += 1
        members = {"serial": self.serial, **members}
        self.ledger.write(what, identifier=request["identifier"], attempt=request.get("attempt"), **members)
        return members

    def do_act(self, account, request, chance):
        key = None if self.options.get("forgetful") else request.get("key")
        if key is not None and key in account.keys:
            return account.keys[key]
        decision = chance.choice(("paid", "partly", "waits"))
        answer = self.effect("effect", request, decision=decision, key=request.get("key"))
        account.done.append((time.time(), answer))
        if key is not None:
            account.keys[key] = answer
        return answer

    def do_find(self, account, request, chance):
        before = time.time() - self.options.get("blind", 0)
        seen = [answer for at, answer in account.done if at <= before]
        return {"found": True, **seen[0]} if seen else {"found": False}

    def add_step(self, account, request, owner):
        expires = time.time() + self.options.get("lifetime", 10)
        step = self.effect("first", request, owner=owner, expires=expires)
        step["state"] = "open"
        account.steps.append(step)
        return step

    def do_first(self, account, request, chance):
        self.act_as_rival(account, request, chance, 0.5)
        step = self.add_step(account, request, "us")
        self.act_as_rival(account, request, chance, 0.5)
        return {"step": step["serial"]}

    def standing(self, account):
        """Steps that are completed, and open ones that have not expired."""
        now = time.time()
        return [s for s in account.steps if s["state"] == "completed" or s["state"] == "open" and s["expires"] > now]

    def do_look(self, account, request, chance):
        self.move_rival(account, request, chance)
        return {"steps": [dict(step) for step in self.standing(account)]}

    def complete(self, step, request, decision):
        answer = self.effect("effect", request, decision=decision, step=step["serial"], owner=step["owner"])
        step.update(state="completed", decision=answer["decision"], completion=answer["serial"])
        return answer

    def do_second(self, account, request, chance):
        self.move_rival(account, request, chance)
        wanted = request.get("first")
        ours = [s for s in self.standing(account) if s["owner"] == "us" and wanted in (None, s["serial"])]
        if not ours:
            return {"fault": "expired"}
        if ours[0]["state"] == "completed":
            return {"fault": "completed"}
        return self.complete(ours[0], request, chance.choice(("paid", "partly", "waits")))

    def do_undo(self, account, request, chance):
        for step in account.steps:
            if step["owner"] == "us" and step["state"] == "open":
                step["state"] = "removed"
                self.effect("undone", request, step=step["serial"])
        return {"undone": True}

    # ---- another party, that keeps to the rules ----

    def act_as_rival(self, account, request, chance, share):
        if account.has_rival is None:
            account.has_rival = chance.random() < self.options.get("rivals", 0)
        if account.has_rival and not any(s["owner"] == "rival" for s in account.steps) and chance.random() < share:
            self.add_step(account, request, "rival")

    def move_rival(self, account, request, chance):
        """The rival goes on, gives up, or waits until its step expires."""
        standing = self.standing(account)
        if not standing or standing[0]["owner"] != "rival" or any(s["state"] == "completed" for s in standing):
            return
        drawn = chance.random()
        if drawn < 0.4:
            self.complete(standing[0], request, chance.choice(("paid", "partly")))
        elif drawn < 0.6:
            standing[0]["state"] = "removed"

    # ---- calls ----

    def do(self, request, chance):
        """Fence and effect are one step, as the fence demands."""
        with self.lock:
            account = self.accounts.setdefault(request["identifier"], Account())
            attempt = request.get("attempt", 0)
            if self.options.get("fence") and "key" not in request and attempt < account.highest:
                return {"fault": "fenced"}
            account.highest = max(account.highest, attempt)
            return getattr(self, "do_" + request["op"])(account, request, chance)

    def wait(self, chance, name, default):
        time.sleep(chance.uniform(*self.options.get(name, default)))

    def call(self, request):
        operation, identifier = request["op"], request.get("identifier")
        if operation == "set":
            self.options.update(request["options"])
            return {}
        with self.lock:
            chance = self.chance.of_call(operation, identifier)
        fault = self.chance.fault(chance, operation)
        number = self.ledger.write("call", **request, fault=fault)
        answer = self.answer(request, chance, fault)
        self.ledger.write("answer", call=number, op=operation, identifier=identifier,
                          attempt=request.get("attempt"), refused=answer.get("fault"))
        return answer

    def answer(self, request, chance, fault):
        if fault == "drop_request":
            raise Hangup()
        if fault == "refuse":
            return {"fault": chance.choice(REASONS)}
        if fault in ("late", "early"):
            self.wait(chance, *(("slow", (3, 5)) if fault == "late" else ("short", (0.05, 0.3))))
        answer = self.do(request, chance)
        if fault == "twice" and "key" in request:
            answer = self.do(request, chance)
        if fault == "slow":
            self.wait(chance, "slow", (3, 5))
        if fault == "drop_reply":
            raise Hangup()
        return answer


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            try:
                answer = self.server.party.call(json.loads(line))
                self.wfile.write((json.dumps(answer) + "\n").encode())
            except (Hangup, BrokenPipeError, ConnectionResetError):
                return


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 200

    def handle_error(self, request, client_address):
        # a caller that was killed is no news
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    server = Server(sys.argv[1], Handler)
    server.party = ThirdParty(Ledger(sys.argv[2]), json.loads(sys.argv[3]))
    server.serve_forever()
