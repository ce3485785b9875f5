// Driver of graphile-worker: see ../README.md for what the commands mean.

import fs from "node:fs";
import path from "node:path";
import pg from "pg";
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import {
	concurrency, ended, main, pgConfig, setting, sleep, slowLimit, slowMs, started,
} from "./common.mjs";

const { version } = JSON.parse(
	fs.readFileSync(new URL("node_modules/graphile-worker/package.json", import.meta.url)));
const logger = new Logger(() => (level, message) => {
	if (level === "error") console.error(message);
});
const kinds = (process.env.BENCH_KINDS ?? "noop").split(" ");

// Its own page on performance: a local queue, and batches in both directions.
const best = {
	concurrentJobs: concurrency || 24,
	localQueue: { size: 500 },
	completeJobBatchDelay: 0,
	failJobBatchDelay: 0,
};

// It asks for handlers of the errors that we would rather see.
function makePool(max) {
	const pool = new pg.Pool({ ...pgConfig, max });
	const complain = (error) => console.error(error.message);
	pool.on("error", complain);
	pool.on("connect", (client) => client.on("error", complain));
	return pool;
}

// As many connections as that page has; else the default.
function worker(over) {
	const connections = setting === "best" ? 25 : 10;
	return { pgPool: makePool(connections), noHandleSignals: true, logger, crontab: "", ...over };
}

const tasks = {
	noop(data) {
		started("noop", data);
		ended();
	},
	async slow(data) {
		started("slow", data);
		await sleep(slowMs);
		ended();
	},
	async chain(data, helpers) {
		started("chain", data);
		if (data.left > 0) await helpers.addJob("chain", { ...data, left: data.left - 1 });
		ended();
	},
	async sql(data, helpers) {
		started("sql", data);
		await helpers.withPgClient((client) => client.query({
			name: "count",
			text: "UPDATE counter SET n = n + 1 WHERE id = $1",
			values: [data.i % 1000],
		}));
		ended();
	},
};

function pick(names) {
	return Object.fromEntries(names.filter((n) => tasks[n]).map((n) => [n, tasks[n]]));
}

// Programs as handlers come from a directory; it tells us of their beginning.
async function startPrograms(options) {
	const taskDirectory = fs.mkdtempSync(path.join(process.env.TWT_CLUSTER, "tasks"));
	fs.symlinkSync(process.env.BENCH_PROGRAM, path.join(taskDirectory, "exec"));
	const runner = await run(worker({ taskDirectory, preset: { worker: options } }));
	runner.events.on("job:start", ({ job }) => started("exec", job.payload));
	runner.events.on("job:success", ended);
	return runner;
}

// It has no limit per kind.  Where slow ones must be limited, the default is
// one worker with that many at once, and the best a second worker for them.
async function serve() {
	const workers = [];
	const start = async (names, options) =>
		workers.push(await run(worker({ taskList: pick(names), preset: { worker: options } })));

	if (kinds.includes("exec")) {
		workers.push(await startPrograms(setting === "best" ? best : {}));
	} else if (!kinds.includes("slow")) {
		await start(kinds, setting === "best" ? best : {});
	} else if (setting === "best") {
		await start(["slow"], { concurrentJobs: slowLimit });
		await start(["noop"], best);
	} else {
		await start(["slow", "noop"], { concurrentJobs: slowLimit });
	}
	return () => Promise.all(workers.map((w) => w.stop()));
}

async function producer(clients) {
	const pgPool = makePool(clients);
	const utils = await makeWorkerUtils({ pgPool, logger });
	return {
		add: (kind, data) => utils.addJob(kind, data),
		addMany: (kind, list, runAt) =>
			utils.addJobs(list.map((payload) => ({ identifier: kind, payload, runAt }))),
		close: async () => {
			await utils.release();
			await pgPool.end();
		},
	};
}

async function prepare() {
	const pgPool = makePool(1);
	await runMigrations({ pgPool, logger });
	await pgPool.query("CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL)");
	await pgPool.query("INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i");
	await pgPool.end();
}

await main({ version, prepare, producer, serve });
