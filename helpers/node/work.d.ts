import type { Handlers } from "./add.js";

/** Runs tasks under twtasksd until its input ends. */
export function work(handlers: Handlers): void;
