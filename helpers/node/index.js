// twtasks for Node: adds tasks in a transaction of pg, and runs them under twtasksd.

import { inspect } from "node:util";

const ADD = "SELECT task_id AS id, version::int, result FROM twtasks.add_tasks($1::text::jsonb)";
let collected; // in test mode: the tasks that were added

// JSON.stringify() makes null of what JSON cannot say.
function exact(name, value) {
  const given = this[name];
  const isLost = given instanceof Date ? value === null : typeof value === "number" && !Number.isFinite(value);
  if (isLost) throw new TypeError(`${name}: JSON cannot say ${given}`);
  return value;
}

/** An answer of a handler that is not "done": new Answer("retry", "the bank is closed", { retry_in: 60 }). */
export class Answer extends Error {
  constructor(result, message = "", members = {}) {
    super(message || result);
    this.members = { result, message, ...members };
  }
}

/** Adds a task in the transaction of a client of pg.  Options are those of twtasks.add_task(). */
export async function add(client, type, data = null, options = {}) {
  const given = { type, data, ...options };
  if (given.payload) given.payload = "\\x" + Buffer.from(given.payload).toString("hex");
  const text = JSON.stringify([given], exact); // refuses what JSON cannot say, in tests too
  if (collected) {
    collected.push({ type, data, ...options });
    return {};
  }
  return (await client.query({ text: ADD, values: [text] })).rows[0];
}

/** Calls test with a list: meanwhile add() adds nothing, and puts the tasks into it. */
export async function testing(test) {
  const outer = collected;
  const added = (collected = []);
  try {
    return await test(added);
  } finally {
    collected = outer;
  }
}

/** Calls the handler of a task, as a test does.  A handler is named by a type, or by a beginning and a *. */
export async function run(handlers, task, signal = new AbortController().signal) {
  const fits = (name) => name === task.type || (name.endsWith("*") && task.type.startsWith(name.slice(0, -1)));
  const weight = (name) => (name === task.type ? Infinity : name.length);
  const [name] = Object.keys(handlers).filter(fits).sort((a, b) => weight(b) - weight(a));
  if (name === undefined) throw new Error(`no handler for type ${task.type}`);
  await handlers[name](task, signal);
}

/** Runs tasks, up to "prefetch" at once, until its input ends.  After TERM it ends those that run, and no others. */
export function work(handlers) {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr); // console.log() goes to the log
  const running = new Map();
  let [isEnding, rest] = [false, ""]; // rest: the beginning of a line

  // The work is done: an answer that JSON cannot say must not end the worker, and so run the task again.
  const answer = ({ id, version }, members) => {
    const text = (answered) => JSON.stringify({ id, version, ...answered }, exact) + "\n";
    try {
      write(text(members));
    } catch (error) {
      write(text({ result: "error", message: `the answer is no JSON: ${error.message}` }));
    }
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

  // Writes to a pipe are complete when they return, so no answer is lost.
  const end = (wanted) => {
    isEnding = wanted;
    if (isEnding && running.size === 0) process.exit(0);
  };

  const read = (line) => {
    const given = JSON.parse(line);
    if (given.cancel) running.get(given.cancel)?.abort();
    else if (given.id && isEnding) answer(given, { result: "release" });
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
