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
