/**
 * What the kit's own parties sent and got: kept for each check and each scenario, and shown where a check
 * fails. Often an earlier refusal is the cause of what failed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Mismatch } from './documented.ts';
import { type Finding, isFields } from './findings.ts';

/** A call and its response; a status of 0 says that there was none. */
export type Exchange = {
  /** Method and path. */
  readonly call: string;
  readonly status: number;
  /** The code of a problem; empty for any other response. */
  readonly code: string;
  readonly atMs: number;
  /** The beginnings of both bodies, without secrets; empty where there is none. */
  readonly bodies: string;
  /** What of the response is not as its operation has it. */
  readonly mismatch?: Mismatch | undefined;
};

/** The exchanges of a check or a scenario, and those of the scenarios that it looked at. */
export type Exchanges = { readonly own: Exchange[]; readonly seen: Set<Exchanges> };

/** Why a check failed, for its verdict. */
export type Explanation = {
  /** The same for failures of the same cause. */
  readonly cause: string;
  /** When the cause came. */
  readonly atMs: number;
  readonly exchanges: readonly string[];
};

const current = new AsyncLocalStorage<Exchanges>();
/** The refusals that are shown, from the first on, and the exchanges before the failure. */
const SHOWN = 3;
const BODY_CHARS_MAX = 200;

/** Does the work of a check or a scenario, whose exchanges are kept with those that it is part of. */
export function keepExchanges<T>(work: () => T, kept: Exchanges = { own: [], seen: new Set() }): T {
  current.getStore()?.seen.add(kept);
  return current.run(kept, work);
}

/** Those that are kept now; undefined outside of a check. */
export function currentExchanges(): Exchanges | undefined {
  return current.getStore();
}

/** Describes a call, what it sent and what it got. */
export function describeExchange(call: string, status: number, got: unknown, sent?: unknown): Exchange {
  const code = isFields(got) && typeof got.code === 'string' ? got.code : '';
  const bodies = sent === undefined && got === undefined ? '' : `${shorten(sent)} → ${shorten(got)}`;
  return { call, status, code, atMs: performance.now(), bodies };
}

/** The beginning of a body. The secret may stand in it as `auth`. */
function shorten(body: unknown): string {
  const text = JSON.stringify(body, (key, value) => (key === 'auth' ? undefined : value)) ?? '';
  return text.length > BODY_CHARS_MAX ? `${text.slice(0, BODY_CHARS_MAX)}…` : text;
}

/** All exchanges of a check, the oldest first. */
export function listExchanges(kept: Exchanges): readonly Exchange[] {
  const all = new Set([kept]);
  for (const one of all) for (const seen of one.seen) all.add(seen);
  return [...all].flatMap(({ own }) => own).sort((a, b) => a.atMs - b.atMs);
}

/** Says why a check failed: for a wait the first call that was refused, else what was found. */
export function explainFinding({ message, cause }: Finding, exchanges: readonly Exchange[]): Explanation {
  const refused = cause === 'wait' ? exchanges.find(isRefused) : isExchange(cause) ? cause : undefined;
  return {
    cause: withoutNames(refused ? printExchange(refused, ' got ') : message),
    atMs: refused?.atMs ?? performance.now(),
    exchanges: printExchanges(exchanges),
  };
}

/**
 * The first refusals and the last exchanges, a line each, and one of their bodies; equal ones are one, where
 * the last of them was.
 */
function printExchanges(exchanges: readonly Exchange[]): readonly string[] {
  const counts = new Map<string, number>();
  const bodiesOf = new Map<string, string>();
  const refused = new Set<string>();
  for (const one of exchanges) {
    const text = printExchange(one, ': ');
    const count = counts.get(text) ?? 0;
    counts.delete(text);
    counts.set(text, count + 1);
    bodiesOf.set(text, one.bodies);
    if (isRefused(one) && refused.size < SHOWN) refused.add(text);
  }
  return [...counts]
    .filter(([text], index) => refused.has(text) || index >= counts.size - SHOWN)
    .flatMap(([text, count]) => {
      const bodies = bodiesOf.get(text);
      return [count === 1 ? text : `${text}, ${count} times`, ...(bodies ? [`  ${bodies}`] : [])];
    });
}

function printExchange({ call, status, code }: Exchange, between: string): string {
  return `${call}${between}${status === 0 ? 'no response' : status}${code && ` ${code}`}`;
}

function isRefused({ status }: Exchange): boolean {
  return status === 0 || status >= 400;
}

function isExchange(value: unknown): value is Exchange {
  return isFields(value) && 'call' in value;
}

/** Names and ids differ where the cause is the same. */
function withoutNames(text: string): string {
  return text.replaceAll(/\bkit-[\w-]+|\b[\da-f]{8}-[\da-f-]{27}\b/g, '…');
}
