/** A task as the sidecar tells it: see docs/handlers.md. */
export interface Task {
  id: string;
  version: number;
  type: string;
  sub_type: string | null;
  key?: string;
  tries: number;
  max_tries: number | null;
  deadline: string;
  data: any;
  payload?: Buffer;
  context: any;
}

export interface Options {
  sub_type?: string;
  key?: string;
  task_id?: string;
  priority?: number;
  run_after?: Date | string;
  bucket?: string;
  expires?: Date | string;
  context?: object;
  payload?: Uint8Array;
}

/** Empty in test mode. */
export interface Added {
  id?: string;
  version?: number;
  result?: "added" | "already_exists";
}

export type Handler = (task: Task, signal: AbortSignal) => unknown;
export type Handlers = { [type: string]: Handler };

/** The part of a Client or PoolClient of pg that is used. */
export interface Client {
  query(query: { text: string; values: unknown[] }): Promise<{ rows: any[] }>;
}

export class Answer extends Error {
  constructor(result: string, message?: string, members?: object);
}

export function add(client: Client, type: string, data?: unknown, options?: Options): Promise<Added>;
export function testing<T>(test: (added: Array<Options & { type: string; data: any }>) => Promise<T> | T): Promise<T>;
export function run(handlers: Handlers, task: Partial<Task> & { type: string }, signal?: AbortSignal): Promise<void>;
