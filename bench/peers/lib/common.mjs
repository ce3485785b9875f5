// What the drivers in JavaScript share: see ../README.md for the contract.

import fs from "node:fs";

const now = () => process.hrtime.bigint();
const say = (values) =>
	fs.writeSync(1, JSON.stringify(values, (_, v) => (typeof v === "bigint" ? Number(v) : v)) + "\n");

export const setting = process.env.BENCH_SETTING ?? "best";
export const slowMs = Number(process.env.BENCH_SLOW_MS ?? 1000);
export const slowLimit = Number(process.env.BENCH_SLOW_LIMIT ?? 5);
// 0: what the setting says.
export const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 0);
const depth = Number(process.env.BENCH_DEPTH ?? 100);
export const pgConfig = {
	host: process.env.PGHOST,
	port: Number(process.env.PGPORT),
	user: process.env.PGUSER,
	database: process.env.PGDATABASE,
};

export function payload(i, bytes) {
	const head = `{"i":${i},"p":""}`.length;
	return { i, p: "x".repeat(Math.max(0, bytes - head)) };
}

let first = 0n;
let handled = 0;
let traceFd = -1;

// Every handler calls this first ...
export function started(kind, data) {
	if (first === 0n) first = now();
	if (traceFd >= 0) fs.writeSync(traceFd, `${kind} ${data.i} ${now()}\n`);
}

// ... and this last.
export function ended() {
	handled++;
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// One line whenever the count changed, looked at every 10 ms.
function reportProgress() {
	let before = 0;
	setInterval(() => {
		if (handled === before) return;
		before = handled;
		say({ first, handled, at: now() });
	}, 10);
}

async function serve(peer) {
	if (process.env.BENCH_TRACE) traceFd = fs.openSync(process.env.BENCH_TRACE, "a");
	if (!process.env.BENCH_QUIET) reportProgress();
	const stop = await peer.serve();
	say({ ready: now() });
	process.on("SIGTERM", async () => {
		await stop();
		process.exit(0);
	});
}

async function fill(producer, kind, n, bytes, when) {
	const later = when === "later" ? new Date(Date.now() + 86400000) : undefined;
	const begin = now();
	for (let i = 0; i < n; i += 1000) {
		const data = [];
		for (let k = i; k < Math.min(n, i + 1000); k++) data.push(payload(k, bytes));
		if (kind === "chain") for (const each of data) each.left = depth - 1;
		await producer.addMany(kind, data, later);
	}
	say({ added: n, seconds: Number(now() - begin) / 1e9 });
}

async function enqueue(producer, clients, seconds, bytes) {
	let next = 0;
	const begin = now();
	const until = begin + BigInt(Math.round(seconds * 1e9));
	const client = async () => {
		while (now() < until) await producer.add("noop", payload(next++, bytes));
	};
	await Promise.all(Array.from({ length: clients }, client));
	say({ added: next, seconds: Number(now() - begin) / 1e9 });
}

// Reads the lines that a worker writes to the FIFO; blocks.
function traceReader() {
	const fd = fs.openSync(process.env.BENCH_TRACE, "r+");
	const buffer = Buffer.alloc(65536);
	let text = "";
	return () => {
		for (;;) {
			const end = text.indexOf("\n");
			if (end >= 0) {
				const [kind, i, at] = text.slice(0, end).split(" ");
				text = text.slice(end + 1);
				return { kind, i: Number(i), at: BigInt(at) };
			}
			text += buffer.toString("latin1", 0, fs.readSync(fd, buffer));
		}
	};
}

async function latency(producer, n, seconds, bytes) {
	const read = traceReader();
	const until = now() + BigInt(Math.round(seconds * 1e9));
	const result = { from_call_ns: [], from_return_ns: [] };
	for (let i = 0; i < n && now() < until; i++) {
		const call = now();
		await producer.add("noop", payload(i, bytes));
		const returned = now();
		let start;
		do start = read();
		while (start.kind !== "noop" || start.i !== i);
		result.from_call_ns.push(start.at - call);
		result.from_return_ns.push(start.at - returned);
	}
	say(result);
}

async function probe(producer, n) {
	const read = traceReader();
	const missing = new Set(Array.from({ length: n }, (_, i) => i));
	const call = now();
	let last = call;
	await producer.addMany("noop", [...missing].map((i) => payload(i, 256)));
	while (missing.size > 0) {
		const start = read();
		if (start.kind === "noop" && missing.delete(start.i) && start.at > last) last = start.at;
	}
	say({ tasks: n, call_ns: call, last_start_ns: last - call });
}

// peer: { version, prepare(), producer(clients), serve(), and perhaps taskSql() }
export async function main(peer) {
	const [command, ...args] = process.argv.slice(2);
	if (command === "version") return say({ version: peer.version });
	if (command === "prepare") return peer.prepare();
	if (command === "task-sql") return say({ statement: await peer.taskSql() });
	if (command === "serve") return serve(peer);
	const producer = await peer.producer(command === "enqueue" ? Number(args[0]) : 1);
	if (command === "fill") await fill(producer, args[0], Number(args[1]), Number(args[2]), args[3]);
	else if (command === "enqueue") await enqueue(producer, ...args.map(Number));
	else if (command === "latency") await latency(producer, ...args.map(Number));
	else if (command === "probe") await probe(producer, Number(args[0]));
	else throw new Error(`unknown command: ${command}`);
	await producer.close();
}
