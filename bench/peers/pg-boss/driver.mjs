// Driver of pg-boss: see ../README.md for what the commands mean.

import fs from "node:fs";
import pg from "pg";
import { PgBoss } from "pg-boss";
import {
	concurrency, ended, main, pgConfig, setting, sleep, slowLimit, slowMs, started,
} from "./common.mjs";

const { version } = JSON.parse(
	fs.readFileSync(new URL("node_modules/pg-boss/package.json", import.meta.url)));
const kinds = (process.env.BENCH_KINDS ?? "noop").split(" ");
const notify = setting === "best";

// Its documentation on throughput: large batches, fetched without a pause
// while they come back full; and a notification instead of the poll.
const best = { batchSize: 1000, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
if (concurrency) best.localConcurrency = concurrency;

async function boss(options) {
	const instance = new PgBoss({ ...pgConfig, useListenNotify: false, ...options });
	instance.on("error", (error) => console.error(error.message));
	await instance.start();
	return instance;
}

const handlers = {
	async noop(jobs) {
		for (const { data } of jobs) {
			started("noop", data);
			ended();
		}
	},
	async slow(jobs) {
		for (const { data } of jobs) started("slow", data);
		await sleep(slowMs);
		for (const _ of jobs) ended();
	},
	async chain(jobs) {
		const next = async ({ data }) => {
			started("chain", data);
			if (data.left > 0) await instance.send("chain", { ...data, left: data.left - 1 });
			ended();
		};
		await Promise.all(jobs.map(next));
	},
	async sql(jobs, tx) {
		for (const { data } of jobs) {
			started("sql", data);
			await tx.executeSql("UPDATE counter SET n = n + 1 WHERE id = $1", [data.i % 1000]);
			ended();
		}
	},
};

let instance;

async function serve() {
	instance = await boss({ useListenNotify: notify, max: 20 });
	for (const kind of kinds) {
		const options = setting === "best" ? { ...best } : {};
		if (kind === "slow") {
			const limited = { batchSize: 1, localConcurrency: slowLimit, pollingIntervalSeconds: 0.5 };
			Object.assign(options, limited);
		}
		if (kind === "sql") options.transactional = true;
		await instance.work(kind, options, handlers[kind]);
	}
	return () => instance.stop({ graceful: true, timeout: 5000 });
}

async function producer(clients) {
	const instance = await boss({ supervise: false, schedule: false, max: Math.max(2, clients) });
	return {
		add: (kind, data) => instance.send(kind, data),
		addMany: (kind, list, startAfter) =>
			instance.insert(kind, list.map((data) => ({ data, startAfter })), { returnId: false }),
		close: () => instance.stop({ graceful: false }),
	};
}

async function prepare() {
	const instance = await boss({ supervise: false, schedule: false });
	for (const kind of ["noop", "slow", "sql", "chain", "idle"]) await instance.createQueue(kind, { notify });
	await instance.stop({ graceful: false });
	const client = new pg.Client(pgConfig);
	await client.connect();
	await client.query("CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL)");
	await client.query("INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i");
	await client.end();
}

// The statement that its client sends for one job, made by its own code.
async function taskSql() {
	const plans = await import("./node_modules/pg-boss/dist/plans.js");
	return plans.insertJobs("pgboss", { table: "job_common", name: "noop", returnId: true, notify })
		.replaceAll("$1", "('[{\"data\":' || $1::text || '}]')");
}

await main({ version, prepare, producer, serve, taskSql });
