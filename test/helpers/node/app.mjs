// An application with the helper for Node: TwTasks/Helper.pm says what it is told.

import { work } from "../../../helpers/node/work.js";
import "./noise.mjs";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { add, Answer, run, testing } from "../../../helpers/node/add.js";

const pg = createRequire(process.env.SHOP_PACKAGES + "/")("pg");
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const handlers = {
  "DELIVER|*": () => assert.fail("another handler names the type exactly"),
  "DELIVER|BIKE": async (task) => {
    await pool.query("INSERT INTO deliveries VALUES ($1, $2, $3)", [task.data.name, task.tries, process.pid]);
    await pool.query("SELECT pg_advisory_xact_lock_shared(1)");
    if (task.data.name.startsWith("fail") && task.tries === 1) throw new Error("no van");
    if (task.data.name === "noise") {
      console.log("noise of a handler");
      assert.equal(spawnSync("echo", ["noise of a child"], { stdio: ["ignore", "inherit", "inherit"] }).status, 0);
    }
    if (task.data.name === "odd") throw new Answer("retry", "", { context: { price: 1n } });
  },
};

async function order(name, options) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("INSERT INTO orders VALUES ($1)", [name]);
    const added = await add(client, "DELIVER|BIKE", word === "options" ? null : { name }, options);
    if (word === "rollback") throw new Error("no bike");
    await client.query("COMMIT");
    return added;
  } catch (error) {
    await client.query("ROLLBACK");
    if (error.message !== "no bike") throw error;
  } finally {
    client.release();
  }
}

async function main() {
  for (const name of names) {
    if (word === "add") assert.equal((await order(name)).result, "added");
    else if (word === "print") console.log(name);
    else if (word === "rollback") await order(name);
    else if (word === "options") 
      await order(name, { key: name, priority: 2, run_after: new Date("2100-01-01"), payload: Buffer.from(name) });
    else if (word === "test")
      await testing(async (added) => {
        await order(name);
        assert.deepEqual(added, [{ type: "DELIVER|BIKE", data: { name } }]);
        for (const lost of [NaN, -Infinity, new Date("no date")])
          await assert.rejects(add(null, "DELIVER|BIKE", { lost }), /JSON cannot say/);
        await run(handlers, { ...added[0], tries: 2 });
      });
  }
  await pool.end();
}

const [word, ...names] = process.argv.slice(2);
if (word === "work") {
  work(handlers);
  console.log("the worker runs"); // goes to the log
} else await main();
