// Adds tasks through node-postgres: see ../README.md for what the commands mean.

import pg from "pg";
import { main, pgConfig } from "./common.mjs";

async function producer(clients) {
	const pool = new pg.Pool({ ...pgConfig, max: clients });
	return {
		add: (kind, data) =>
			pool.query({
				name: "add",
				text: "SELECT twtasks.add_task($1, $2::jsonb)",
				values: [kind, JSON.stringify(data)],
			}),
		addMany: (kind, list, runAt) =>
			pool.query({
				name: "add many",
				text: "SELECT count(*) FROM twtasks.add_tasks($1::jsonb)",
				values: [JSON.stringify(list.map((data) => ({ type: kind, data, run_after: runAt })))],
			}),
		close: () => pool.end(),
	};
}

await main({ producer });
