#!/usr/bin/env node
// A worker in Node: one JSON object per line, on stdin and on stdout.
// Up to "prefetch" tasks run at once; replies may come in any order.

const { inspect } = require("util");
const running = new Map();

// Only replies go to stdout.  console.log() goes to stderr, and so to the log.
const writeReply = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

async function doTask(task, signal) {
  // Put your work here.  It returns the members of the reply.
  return { result: "done" };
}

async function onTask(task) {
  const stop = new AbortController();
  running.set(task.id, stop);
  answer(task, { started: true });
  const reply = await doTask(task, stop.signal).catch((error) => ({
    result: "retry",
    message: inspect(error).slice(0, 4000), // with the stack
  }));
  running.delete(task.id);
  answer(task, reply);
}

function answer(task, members) {
  writeReply(JSON.stringify({ id: task.id, version: task.version, ...members }) + "\n");
}

function onLine(line) {
  const task = JSON.parse(line);
  if (task.cancel) running.get(task.cancel)?.abort();
  else if (task.id) onTask(task); // skips the hello
}

// The module readline would split at U+2028 too, which is part of a line here.
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = text.split("\n");
  lines[0] = rest + lines[0];
  rest = lines.pop();
  lines.forEach(onLine);
});
