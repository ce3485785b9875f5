// A worker in Node.js: runs the tasks of a chunk of stdin at once, and writes
// their answers together.  For the measurement it counts, and traces starts.
//
//	worker.mjs TALLY TRACE

import fs from "node:fs";

const [tallyPath, tracePath] = process.argv.slice(2);
const tallyFd = fs.openSync(`${tallyPath}.${process.pid}`, "w");
const traceFd = tracePath === "-" ? -1 : fs.openSync(tracePath, "a");
const tally = new BigInt64Array(2); // first start in ns, tasks answered
let answers = [];
let rest = "";

async function handle(task) {
	if (traceFd >= 0) {
		fs.writeSync(traceFd, `${task.type} ${task.data.i} ${process.hrtime.bigint()}\n`);
	}
	return { result: "done" };
}

function writeAnswers() {
	process.stdout.write(answers.join("\n") + "\n");
	tally[1] += BigInt(answers.length);
	fs.writeSync(tallyFd, tally, 0, 16, 0);
	answers = [];
}

async function run(task) {
	if (tally[0] === 0n) tally[0] = process.hrtime.bigint();
	const members = await handle(task).catch((error) => ({ result: "retry", message: error.message }));
	if (answers.length === 0) setImmediate(writeAnswers);
	answers.push(JSON.stringify({ id: task.id, version: task.version, ...members }));
}

process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
	const lines = (rest + chunk).split("\n");
	rest = lines.pop();
	for (const line of lines) {
		const task = JSON.parse(line);
		if (task.id) run(task); // skips the hello
	}
});
