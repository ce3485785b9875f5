// twtasks for Node: adds tasks in a transaction of pg; tests collect and run them here.

const ADD = "SELECT task_id AS id, version::int, result FROM twtasks.add_tasks($1::text::jsonb)";
let collected; // in test mode: the tasks that were added

/** For JSON.stringify(), which makes null of what JSON cannot say. */
export function exact(name, value) {
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
