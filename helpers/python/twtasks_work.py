"""The loop of a worker for the helper for Python: reads tasks from standard input, and writes answers."""

import base64
import json
import os
import signal
import sys
import traceback
import types

import twtasks


def made(given):
    """The task of a line, or of a part of one."""
    if "payload_base64" in given:
        given["payload"] = base64.b64decode(given["payload_base64"])
    return types.SimpleNamespace(**given)


def outcome(call, *arguments):
    """Calls a handler, and returns the members of its answer."""
    try:
        call(*arguments)
    except twtasks.Answer as answer:
        return answer.members
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too
        return dict(result="retry", message=f"{type(error).__name__}: {error!s:.999}\n{traceback.format_exc()[-3000:]}")
    return {"result": "done"}


def answers_to(given, ends):
    """Runs the task of a line, unless the worker ends.  Yields whom each answer is for, and its members."""
    if given.get("batch"):
        yield {}, {"error": 'takes one task a line: leave the option "batch" out, or call twtasks_batch.work()'}
    elif "id" in given and ends:
        yield given, {"result": "release", "retry_in": 1}
    elif "id" in given:
        yield given, {"started": True}
        yield given, outcome(twtasks.run, made(given))


def work(load, answers_to=answers_to):
    source, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # print() goes to stderr, and so to the log
    sys.stdout.reconfigure(line_buffering=True)  # while the task runs
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # so that a child reads no tasks
    load()
    is_told_to_end = []

    def answer(given, **members):
        whose = {name: given[name] for name in ("id", "version", "ids", "versions") if name in given}
        try:
            text = json.dumps({**whose, **members}, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:  # the work is done: nothing may run it again
            text = json.dumps({**whose, "result": "error", "message": f"the answer is no JSON: {error}"})
        print(text, file=replies, flush=True)

    def on_term(*_):
        is_told_to_end.append(True)
        os.set_blocking(source.fileno(), False)  # reads what is there, and waits for no more

    signal.signal(signal.SIGTERM, on_term)
    for line in iter(source.readline, b""):
        given = json.loads(line) if line.endswith(b"\n") else {}
        for whose, members in answers_to(given, bool(is_told_to_end)):
            answer(whose, **members)
