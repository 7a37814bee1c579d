/**
 * What the kit's own parties sent and got, kept for each check and each scenario, and shown if a check fails.
 * Often an earlier refusal is the cause of a failure.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Mismatch } from './documented.ts';
import { type Finding, isFields } from './findings.ts';

/** A call and its response. A status of 0 means that there was none. */
export type Exchange = {
  /** Its method and path. */
  readonly call: string;
  readonly status: number;
  /** The code of a problem; empty for any other response. */
  readonly code: string;
  readonly atMs: number;
  /** The beginnings of both bodies, without secrets; empty without a body. */
  readonly bodies: string;
  /** How the response differs from what the document says of its operation. */
  readonly mismatch?: Mismatch | undefined;
};

/** The exchanges of a check or a scenario, and those of the scenarios that it looked at. */
export type Exchanges = { readonly own: Exchange[]; readonly seen: Set<Exchanges> };

/** Why a check failed, for its verdict. */
export type Explanation = {
  /** A text that is the same for all failures of one cause. */
  readonly cause: string;
  /** When the cause came. */
  readonly atMs: number;
  readonly exchanges: readonly string[];
};

const current = new AsyncLocalStorage<Exchanges>();
/** How many refusals are shown, from the first on, and how many exchanges before the failure. */
const SHOWN = 3;
const BODY_CHARS_MAX = 200;

/** Does the work of a check or a scenario, and adds its exchanges to those of which it is a part. */
export function keepExchanges<T>(work: () => T, kept: Exchanges = { own: [], seen: new Set() }): T {
  current.getStore()?.seen.add(kept);
  return current.run(kept, work);
}

/** Returns the exchanges that are kept now; undefined outside of a check. */
export function currentExchanges(): Exchanges | undefined {
  return current.getStore();
}

/** Describes a call with what it sent and what it got. */
export function describeExchange(call: string, status: number, got: unknown, sent?: unknown): Exchange {
  const code = isFields(got) && typeof got.code === 'string' ? got.code : '';
  const bodies = sent === undefined && got === undefined ? '' : `${shorten(sent)} → ${shorten(got)}`;
  return { call, status, code, atMs: performance.now(), bodies };
}

/** Returns the beginning of a body. The secret may stand in it as `auth`. */
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

/** Says why a check failed: if it waited, the first call that was refused; otherwise what was found. */
export function explainFinding({ message, cause }: Finding, exchanges: readonly Exchange[]): Explanation {
  const refused = cause === 'wait' ? exchanges.find(isRefused) : isExchange(cause) ? cause : undefined;
  return {
    cause: withoutNames(refused ? printExchange(refused, ' got ') : message),
    atMs: refused?.atMs ?? performance.now(),
    exchanges: printExchanges(exchanges),
  };
}

/**
 * Prints the first refusals and the last exchanges, one line each, with the bodies of one. Equal exchanges
 * are printed once, where the last of them was.
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

/** Names and ids differ although the cause is the same. */
function withoutNames(text: string): string {
  return text.replaceAll(/\bkit-[\w-]+|\b[\da-f]{8}-[\da-f-]{27}\b/g, '…');
}
