/**
 * The key layout: where each row of the embedded engine lives, and how values are written into it.
 *
 *   meta/mark                        how far runs and cursors have come
 *   open/ID                          small state of an open task: a start reads these and the agents, nothing else
 *   task/ID/done, task/ID/input      a settled task's state; what was submitted, written once
 *   agent/ID, key/ID                 records
 *   all/CREATED/ID                   the listings, read backwards for newest first
 *   by-session/SESSION/CREATED/ID
 *   by-agent/AGENT/CREATED/ID        each agent the task was ever assigned to
 *   feed/SESSION/CURSOR              a stored event: its number in the session and the task's id
 *   feed/SESSION/!                   number of the last event trimmed away; sorts before every event
 *   unreported/AGENT/MS/ID           ended without its agent's report
 *   ended/MS/ID                      retention: tasks by their end, with the key of their event
 *   fade/MS/KEY                      retention: rows with an end of their own
 *
 * Promise: a part of a key may be any string. It can't collide with another nor leave its range, because what is not
 * a plain character is escaped, the separator included.
 */
import type { Cursor, Revision } from '../../../ports/store.ts';

/** Keys from `from` (included) to `to` (excluded). */
export type Range = { readonly from: string; readonly to: string };

/** How far an engine over this file has come: runs count openings, cursors never fall below the last one. */
export type HighWaterMark = { readonly run: number; readonly ms: number; readonly n: number };

/** What is written for a value: its revision, the value, and by kind what the engine must know to use it. */
export type Envelope = {
  readonly r: Revision;
  readonly v: unknown;
  /** Open tasks: not later than when somebody must look at it again. */
  readonly d?: number | null;
  /** Keys: when it expires; null: never. */
  readonly e?: number | null;
};

export const HIGH_WATER_MARK_KEY = 'meta/mark';
export const OPEN_RANGE = rangeOf('open');
export const AGENT_RANGE = rangeOf('agent');
export const TASK_RANGE = rangeOf('task');
export const ENDED_PREFIX = 'ended/';
export const EXPIRY_PREFIX = 'fade/';

const NOT_PLAIN = /[%/\p{Cc}\p{Surrogate}]/u;
const NOT_PLAIN_ALL = /[%/\p{Cc}\p{Surrogate}]/gu;
const MS_DIGITS = 14;
const COUNT_DIGITS = 10;

/** Writes any string as one part of a key. */
export function escapePart(text: string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text.replace(NOT_PLAIN_ALL, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Reads what `escapePart()` wrote. */
export function unescapePart(part: string): string {
  if (!part.includes('%')) return part;
  return part.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Writes a time so that text order is time order. */
export function padMs(ms: number): string {
  return String(Math.max(0, Math.floor(ms))).padStart(MS_DIGITS, '0');
}

/** All keys below a key: `/` is the separator, `0` the sign after it. */
export function rangeOf(key: string): Range {
  return { from: `${key}/`, to: `${key}0` };
}

/** The smallest key after this one: no key contains a control character. */
export function afterKey(key: string): string {
  return `${key}\u0001`;
}

/** The last part of a key, read back. */
export function lastPart(key: string): string {
  return unescapePart(key.slice(key.lastIndexOf('/') + 1));
}

export const openKey = (id: string): string => `open/${escapePart(id)}`;
export const taskRange = (id: string): Range => rangeOf(`task/${escapePart(id)}`);
export const settledKey = (id: string): string => `task/${escapePart(id)}/done`;
export const inputKey = (id: string): string => `task/${escapePart(id)}/input`;
export const agentKey = (id: string): string => `agent/${escapePart(id)}`;
export const keyKey = (id: string): string => `key/${escapePart(id)}`;
export const endedKey = (ms: number, id: string): string => `${ENDED_PREFIX}${padMs(ms)}/${escapePart(id)}`;
export const expiryKey = (ms: number, key: string): string => `${EXPIRY_PREFIX}${padMs(ms)}/${key}`;

/** The row key inside a `fade/` key. */
export function expiringKey(key: string): string {
  return key.slice(EXPIRY_PREFIX.length + MS_DIGITS + 1);
}

/** The listings: all, of a session, of an agent; each holds `CREATED/ID`. */
export const LISTING_ALL = 'all';
export const sessionListing = (session: string): string => `by-session/${escapePart(session)}`;
export const agentListing = (agent_id: string): string => `by-agent/${escapePart(agent_id)}`;
export const positionOf = (createdMs: number, id: string): string => `${padMs(createdMs)}/${escapePart(id)}`;

export const unreportedListing = (agent_id: string): string => `unreported/${escapePart(agent_id)}`;

export const feedPath = (session: string): string => `feed/${escapePart(session)}`;
export const trimmedKey = (session: string): string => `${feedPath(session)}/!`;
/** All events of a session, the mark of what was trimmed left out. */
export const eventRange = (session: string): Range => ({
  from: `${feedPath(session)}/0`,
  to: `${feedPath(session)}0`,
});

/** The row of an event; undefined when the cursor is none of ours. */
export function eventKey(session: string, cursor: Cursor): string | undefined {
  const parts = /^(0|[1-9]\d{0,13})-(0|[1-9]\d{0,9})$/.exec(cursor);
  if (!parts) return undefined;
  const [, ms = '', n = ''] = parts;
  return `${feedPath(session)}/${ms.padStart(MS_DIGITS, '0')}-${n.padStart(COUNT_DIGITS, '0')}`;
}

/** The cursor of an event's row. */
export function cursorOf(key: string): Cursor {
  const place = key.slice(key.lastIndexOf('/') + 1);
  return `${Number(place.slice(0, MS_DIGITS))}-${Number(place.slice(MS_DIGITS + 1))}`;
}

/** The session part of an event's or a trim mark's row, still escaped: as `feedPath()` writes it. */
export function feedPathOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

/** A stored event: the task's id and its number in the session, counted from 1. */
export type EventRow = { readonly number: number; readonly request_id: string };

export function writeEvent({ number, request_id }: EventRow): string {
  return JSON.stringify([number, request_id]);
}

export function readEvent(text: string): EventRow {
  const [number, request_id] = JSON.parse(text) as [number, string];
  return { number, request_id };
}

export function readEnvelope(text: string): Envelope {
  return JSON.parse(text) as Envelope;
}
