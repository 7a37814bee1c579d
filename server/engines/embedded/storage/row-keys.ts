/**
 * The key layout of the embedded engine's rows, and the text of their values.
 *
 *   meta/mark                        the high-water mark: how far runs and cursors have come; and how many
 *                                    settled tasks are stored, by outcome
 *   open/ID                          the state of an open task; a start reads these and the agents only
 *   details/ID                       what a task has beside its state: a reply, the contents of questions
 *   task/ID/done, task/ID/input      a settled task's state; what was submitted, written once
 *   agent/ID, key/ID                 agents; idempotency keys
 *   all/CREATED/ID                   the listings; read in reverse they are newest first
 *   by-session/SESSION/CREATED/ID
 *   by-agent/AGENT/CREATED/ID        under each agent that the task was ever assigned to
 *   by-outcome/OUTCOME/CREATED/ID    settled tasks that did not succeed
 *   activity/NN                      what happened in a step of 30 s, in the row of the step 30 before
 *   feed/SESSION/CURSOR              a stored event: its number in the session and the task's id
 *   feed/SESSION/!                   the number of the last trimmed event; sorts before every event
 *   unreported/AGENT/MS/ID           a task that settled without its agent's report
 *   ended/MS/ID                      retention index: tasks by the time they settled, with the key of their
 *                                    event and what is kept of their end
 *   output/ID/N                      a write of a task's output: its pieces, the last of which has number N,
 *                                    and how the output stands then; N-: that alone
 *   ended-output/MS/ID               settled tasks with output, by the time they settled: its bytes
 *   fade/MS/KEY                      expiry index: rows by the time they expire
 *
 * Keys, prefixes and the short field names in values (`r` `v` `d` `e` `o`, `run` `ms` `n` `ended`
 * `output`) are the stored format: they must not change, even where the code uses other names.
 *
 * Promise: a part of a key may be any string. It can neither collide with another key nor leave its range,
 * because every character that is not plain is escaped, the separator included.
 */
import { parseStored, writeJson } from '../../../domain/json-text.ts';
import type { IndexEntry } from '../../../domain/projection.ts';
import type { Cursor, Revision } from '../../../ports/store.ts';

/** Keys from `from` (included) to `to` (excluded). */
export type Range = { readonly from: string; readonly to: string };

/**
 * How far the engines over this file have come: `run` counts openings; `ms` and `n` are the last cursor, and
 * no later cursor is lower.
 */
export type HighWaterMark = { readonly run: number; readonly ms: number; readonly n: number };

/** The row of the high-water mark. */
export type MarkRow = HighWaterMark & {
  /** Settled tasks that are stored, in the order of `OUTCOMES`. */
  readonly ended?: readonly number[];
  /** Bytes of all output, and those of settled tasks' output; absent while there is none. */
  readonly output?: readonly [all: number, settled: number];
};

/** The stored form of a value: its revision `r`, the value `v`, and a time that depends on the kind. */
export type Envelope = {
  readonly r: Revision;
  readonly v: unknown;
  /** Open tasks: the due time, or earlier; null when there was none. */
  readonly d?: number | null;
  /** Idempotency keys: when the key expires. */
  readonly e?: number;
  /** Open tasks: whether there is output. */
  readonly o?: true;
};

export const HIGH_WATER_MARK_KEY = 'meta/mark';
export const OPEN_RANGE = rangeOf('open');
export const AGENT_RANGE = rangeOf('agent');
export const TASK_RANGE = rangeOf('task');
export const ACTIVITY_RANGE = rangeOf('activity');
export const ENDED_RANGE = rangeOf('ended');
export const ENDED_OUTPUT_RANGE = rangeOf('ended-output');
export const EXPIRY_PREFIX = 'fade/';

const NOT_PLAIN = /[%/\p{Cc}\p{Surrogate}]/u;
const NOT_PLAIN_ALL = /[%/\p{Cc}\p{Surrogate}]/gu;
const MS_DIGITS = 14;
const COUNT_DIGITS = 10;

/** Writes any string as one part of a key. */
function escapePart(text: string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text.replace(
    NOT_PLAIN_ALL,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
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

/** All keys below a key: `/` is the separator, `0` the character after it. */
export function rangeOf(key: string): Range {
  return { from: `${key}/`, to: `${key}0` };
}

/** A key after this one and before every other: no key contains a control character. */
export function afterKey(key: string): string {
  return `${key}\u0001`;
}

/** The time in a key whose second part is one. */
export function msOf(key: string): number {
  const from = key.indexOf('/') + 1;
  return Number(key.slice(from, from + MS_DIGITS));
}

/** The last part of a key, unescaped. */
export function lastPart(key: string): string {
  return unescapePart(key.slice(key.lastIndexOf('/') + 1));
}

export const openKey = (id: string): string => `open/${escapePart(id)}`;
export const detailsKey = (id: string): string => `details/${escapePart(id)}`;
export const taskRange = (id: string): Range => rangeOf(`task/${escapePart(id)}`);
export const settledKey = (id: string): string => `task/${escapePart(id)}/done`;
export const inputKey = (id: string): string => `task/${escapePart(id)}/input`;
export const agentKey = (id: string): string => `agent/${escapePart(id)}`;
export const keyKey = (id: string): string => `key/${escapePart(id)}`;
export const endedKey = (ms: number, id: string): string =>
  `${ENDED_RANGE.from}${padMs(ms)}/${escapePart(id)}`;
export const outputRange = (id: string): Range => rangeOf(`output/${escapePart(id)}`);
/** The row of the write whose last piece has this number. */
export const outputKey = (id: string, last: number): string =>
  `${outputRange(id).from}${String(last).padStart(COUNT_DIGITS, '0')}`;
/** The row behind it, which only says how the output stands. */
export const outputHeadKey = (id: string, last: number): string => `${outputKey(id, last)}-`;
/** The number of the last piece that the row of an output counts. */
export const lastPieceOf = (key: string): number => Number.parseInt(key.slice(key.lastIndexOf('/') + 1), 10);
export const endedOutputKey = (ms: number, id: string): string =>
  `${ENDED_OUTPUT_RANGE.from}${padMs(ms)}/${escapePart(id)}`;
export const expiryKey = (ms: number, key: string): string => `${EXPIRY_PREFIX}${padMs(ms)}/${key}`;

/** The row key inside a key of the expiry index. */
export function expiringKey(key: string): string {
  return key.slice(EXPIRY_PREFIX.length + MS_DIGITS + 1);
}

/** A listing: an index of tasks, or its part for a session, an agent or an outcome. It holds positions. */
export const listingOf = (index: IndexEntry['index'], of: string): string =>
  index === 'all' ? index : `${index}/${escapePart(of)}`;
/** A task's position in a listing: its time, then its id. */
export const positionOf = (createdMs: number, id: string): string => `${padMs(createdMs)}/${escapePart(id)}`;

export const feedPath = (session: string): string => `feed/${escapePart(session)}`;
export const trimmedKey = (session: string): string => `${feedPath(session)}/!`;
/** All events of a session, without the row of the last trimmed number. */
export const eventRange = (session: string): Range => ({
  from: `${feedPath(session)}/0`,
  to: `${feedPath(session)}0`,
});

/** The key of an event's row; undefined when the text is not a cursor of this engine. */
export function eventKey(session: string, cursor: Cursor): string | undefined {
  const parts = /^(0|[1-9]\d{0,13})-(0|[1-9]\d{0,9})$/.exec(cursor);
  if (!parts) return undefined;
  const [, ms = '', n = ''] = parts;
  return `${feedPath(session)}/${ms.padStart(MS_DIGITS, '0')}-${n.padStart(COUNT_DIGITS, '0')}`;
}

/** The cursor of an event's row. */
export function cursorOf(key: string): Cursor {
  const padded = key.slice(key.lastIndexOf('/') + 1);
  return `${Number(padded.slice(0, MS_DIGITS))}-${Number(padded.slice(MS_DIGITS + 1))}`;
}

/** The session's part of the key of a `feed/` row, still escaped: as `feedPath()` writes it. */
export function feedPathOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

/** A stored event: the task's id and its number in the session, counted from 1. */
type EventRow = { readonly number: number; readonly request_id: string };

export function writeEvent({ number, request_id }: EventRow): string {
  return JSON.stringify([number, request_id]);
}

export function readEvent(text: string): EventRow {
  const [number, request_id] = JSON.parse(text) as [number, string];
  return { number, request_id };
}

export function readEnvelope(text: string): Envelope {
  return parseStored(text) as Envelope;
}

/** Writes an envelope; the value comes last. */
export function writeEnvelope({ v, ...rest }: Envelope & { readonly v: object }): string {
  return writeJson(v, `${JSON.stringify(rest).slice(0, -1)},"v":`, '}');
}

/** The high-water mark of a storage that has none yet begins at zero. */
export function readMark(text: string | undefined): MarkRow {
  return text === undefined ? { run: 0, ms: 0, n: 0 } : (JSON.parse(text) as MarkRow);
}

export function writeMark(row: MarkRow): string {
  return JSON.stringify(row);
}
