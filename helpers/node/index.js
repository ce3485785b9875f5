// twtasks for Node: adds tasks in a transaction of pg, and runs them under twtasksd.

export { add, Answer, run, testing } from "./add.js";
export { work } from "./work.js";
