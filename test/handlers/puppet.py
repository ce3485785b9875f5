#!/usr/bin/env python3
"""A worker of the tests: the data of each task says what it does.

Data is a list of steps, each a list of a word and its arguments:

    start            says that it has taken the task up
    reply MEMBERS    replies with these members besides id and version
    all MEMBERS      replies for all tasks of its line, a batch, in one line
    size             the same with an error whose message is the number of tasks
    write TEXT       writes that, where @ID@ and @VERSION@ stand for the task's
    say TEXT         writes that to stderr
    widen            lets its stdout hold a megabyte that nobody has read
    close NAME       closes stdin or stdout
    exit STATUS      exits;   kill  ends itself by a signal
    hold FIFO        leaves a child in a session of its own that holds FIFO
    touch FIFO       writes a line to it
    wait FIFO        reads a line from it
    echo             replies with the line that it got as the message
    settings         replies with its settings as the message
    stay             does nothing for ever

No data means "done"; in a batch, for the tasks of the line together.  Asked to stop a task, it replies with an error; with
"cancelled" and the reason that it was given when started with the argument
"polite"; does nothing when started with "deaf".  When started with "parting" it does nothing
either, and when its input ends, it replies "done" for the task that it got last.  "slow" makes it start slowly.
With "settings" it wants "mood" among its settings.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "command.sh")
mode = sys.argv[1] if len(sys.argv) > 1 else ""
settings = {}
batch = []


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def reply(task, members):
    write(json.dumps({"id": task["id"], "version": task["version"], **members}) + "\n")


def reply_all(members):
    write(json.dumps({"ids": [task["id"] for task in batch], "versions": [task["version"] for task in batch], **members}) + "\n")


def step(task, word, *args):
    if word == "start":
        reply(task, {"started": True})
    elif word == "reply":
        reply(task, args[0])
    elif word == "all":
        reply_all(args[0])
    elif word == "size":
        reply_all({"result": "error", "message": str(len(batch))})
    elif word == "write":
        text = args[0].replace("@ID@", task["id"])
        write(text.replace("@VERSION@", str(task["version"])))
    elif word == "say":
        os.write(2, args[0].encode())
    elif word == "wait":
        with open(args[0]) as fifo:
            fifo.readline()
    elif word == "widen":
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1024 * 1024)
    elif word == "close":
        os.close({"stdin": 0, "stdout": 1}[args[0]])
    elif word == "exit":
        os._exit(args[0])
    elif word == "kill":
        os.kill(os.getpid(), 9)
    elif word == "hold":
        subprocess.Popen([COMMAND, "hold", args[0], "deaf"], start_new_session=True)
    elif word == "touch":
        with open(args[0], "w") as fifo:
            fifo.write("here\n")
    elif word == "echo":
        reply(task, {"result": "error", "message": line.rstrip("\n")})
    elif word == "settings":
        reply(task, {"result": "error", "message": json.dumps(settings)})
    elif word == "stay":
        time.sleep(100000)


def greet(hello):
    if mode == "settings" and "mood" not in hello["settings"]:
        write('{"error": "there is no mood"}\n')
    elif mode == "settings":
        settings.update(hello["settings"])
        write('{"ready": 1}\n')


if mode == "slow":
    time.sleep(0.3)
if mode == "parting":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in iter(sys.stdin.readline, ""):
    if not line.endswith("\n"):
        break  # its sidecar left it unfinished
    task = json.loads(line)
    if "hello" in task:
        greet(task)
        continue
    if "cancel" in task:
        task["id"] = task.pop("cancel")
        if mode == "polite":
            reply(task, {"result": "cancelled", "message": "told: " + task["reason"]})
        elif mode not in ("deaf", "parting"):
            reply(task, {"result": "error", "message": "stopped"})
        continue
    batch = task.get("tasks", [task])
    if "tasks" in task and not any(member["data"] for member in batch):
        reply_all({"result": "done"})
        continue
    for member in batch:
        for action in member.get("data") or ([] if "tasks" in task else [["reply", {"result": "done"}]]):
            step(member, *action)
if mode == "parting":
    reply(member, {"result": "done"})
