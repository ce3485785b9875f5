// Runs tasks under twtasksd.  Import it first: what later modules print then goes to the log.

import { closeSync, openSync, writeSync } from "node:fs";
import { inspect } from "node:util";
import { Answer, exact, run } from "./add.js";

// Returns the pipe of the answers.  Prints, those of children too, go to the log from now on.
function takeStdout() {
  const answers = openSync("/proc/self/fd/1", "a");
  closeSync(1);
  if (openSync("/proc/self/fd/2", "a") !== 1) throw new Error("stdout was taken by another file"); // the lowest number
  return answers;
}

// The sidecar marks its workers, so that other programs with this module keep their stdout.
const taken = process.env.TWTASKS_WORKER && takeStdout();
delete process.env.TWTASKS_WORKER; // a child is not a worker

/** Runs tasks, up to "prefetch" at once, until its input ends.  After TERM it ends those that run, and no others. */
export function work(handlers) {
  const answers = taken || takeStdout();
  const running = new Map();
  let [isEnding, rest] = [false, ""]; // rest: the beginning of a line

  // Writes to a pipe that blocks are complete when they return, so no answer is lost.
  const write = (text) => {
    for (let left = Buffer.from(text); left.length > 0; ) left = left.subarray(writeSync(answers, left));
  };

  // The work is done: an answer that JSON cannot say must not end the worker, and so run the task again.
  const answer = ({ id, version }, members) => {
    const text = (answered) => JSON.stringify({ id, version, ...answered }, exact) + "\n";
    let line;
    try {
      line = text(members);
    } catch (error) {
      line = text({ result: "error", message: `the answer is no JSON: ${error.message}` });
    }
    write(line);
  };

  const outcome = async (task, signal) => {
    try {
      await run(handlers, task, signal);
      return { result: "done" };
    } catch (error) {
      if (error instanceof Answer) return error.members;
      return { result: signal.aborted ? "cancelled" : "retry", message: inspect(error).slice(0, 4000) };
    }
  };

  const take = async (task) => {
    const stop = new AbortController();
    if (task.payload_base64 !== undefined) task.payload = Buffer.from(task.payload_base64, "base64");
    running.set(task.id, stop);
    answer(task, { started: true });
    answer(task, await outcome(task, stop.signal));
    running.delete(task.id);
    end(isEnding);
  };

  const end = (wanted) => {
    isEnding = wanted;
    if (isEnding && running.size === 0) process.exit(0);
  };

  const read = (line) => {
    const given = JSON.parse(line);
    if (given.cancel) running.get(given.cancel)?.abort();
    else if (given.id && isEnding) answer(given, { result: "release", retry_in: 1 });
    else if (given.id) take(given);
  };

  process.stdin.setEncoding("utf8").on("data", (text) => {
    const lines = text.split("\n"); // readline would split at U+2028 too
    lines[0] = rest + lines[0];
    rest = lines.pop();
    lines.forEach(read);
  });
  process.stdin.on("end", () => end(true));
  process.on("SIGTERM", () => setImmediate(end, true)); // after the lines that were read already
}
