/** A request to the second gateway that is right so far, and what its operations have in common. */
import type { ServerResponse } from 'node:http';
import type { State, Task } from './state.ts';

/** An error response: its code, and for 422 where values are wrong. */
export class Refusal extends Error {
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly pointers: readonly string[] | undefined;
  constructor(
    code: string,
    more: { headers?: Readonly<Record<string, string>>; pointers?: readonly string[] } = {},
  ) {
    super(code);
    this.code = code;
    this.headers = more.headers ?? {};
    this.pointers = more.pointers;
  }
}

export type Call = {
  readonly state: State;
  readonly query: URLSearchParams;
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly isTrusted: boolean;
  readonly res: ServerResponse;
  header(name: string): string | undefined;
};

export type Reply = object | null | undefined;

/** Resolves when the check holds after a change, or when the time is over. */
export function waitFor(state: State, ms: number, isTerminal: () => boolean): Promise<void> {
  if (ms <= 0 || isTerminal()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      state.listeners.delete(look);
      resolve();
    };
    const look = (): void => {
      if (isTerminal()) end();
    };
    const timer = setTimeout(end, ms);
    state.listeners.add(look);
  });
}

export const waitMs = (value: unknown): number => Math.min(60, Number(value ?? 0)) * 1_000;
export const seconds = (ms: number): number => ms / 1_000;

export function requireTask({ state, id }: Pick<Call, 'state' | 'id'>): Task {
  const task = state.tasks.get(id);
  if (!task) throw new Refusal('task_not_found');
  return task;
}

/** The task that an agent writes into or asks about: its own, or one that has ended which was its own. */
export function requireOwnTask({ state, body }: Call): Task {
  const agent_id = String(body.agent_id);
  const task = requireTask({ state, id: String(body.request_id) });
  const agent = state.agents.get(agent_id);
  const isFormer = task.former.has(agent_id) && state.isOver(task);
  if (task.info.agent_id !== agent_id && !isFormer)
    throw new Refusal(agent ? 'agent_mismatch' : 'agent_not_found');
  if (agent) agent.contactMs = Date.now();
  return task;
}

/** Sorts the keys of objects, as a replacer of `JSON.stringify`. */
export function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
