/** The listings, and the tasks that claims may hand out. Each is a range of an index. */
import type { IndexEntry } from '../../domain/projection.ts';
import { HANDED_OUT_MAX } from '../../ports/limits.ts';
import type { Claimable, Lists, Page, TasksAsk } from '../../ports/store.ts';
import type { Prepare, Row } from './statements.ts';

type PageRequest = { readonly after?: string; readonly limit: number };

export type Listings = {
  list<Q extends keyof Lists>(query: Q, ask: Lists[Q]['ask'], page: PageRequest): Page<Lists[Q]['item']>;
  listClaimable(agent_id: string, limit: number): Claimable;
};

/** How many digits the time in a position has, so that positions compare as texts. */
const MS_DIGITS = 15;
const LAST_MS = 10 ** MS_DIGITS - 1;
const [OLDEST, NEWEST]: [Row, Row] = [
  [-1, ''],
  [LAST_MS, ''],
];

function positionOf([ms, task]: Row): string {
  return `${String(ms).padStart(MS_DIGITS, '0')}/${task}`;
}

function readPosition(position: string): Row {
  return [Number(position.slice(0, MS_DIGITS)), position.slice(MS_DIGITS + 1)];
}

/** Oldest first, then by id, as SQLite orders them. */
function compareRows([ms, task]: Row, [otherMs, otherTask]: Row): number {
  return (
    Number(ms) - Number(otherMs) || Buffer.compare(Buffer.from(String(task)), Buffer.from(String(otherTask)))
  );
}

type Statements = ReturnType<typeof prepareListings>;

function prepareListings(prepare: Prepare) {
  const entries = 'SELECT at_ms, task FROM entry WHERE name = ? AND of = ?';
  const claimable = "SELECT at_ms, task FROM entry WHERE name = 'claimable' AND of = ?";
  return {
    rising: prepare(`${entries} AND (at_ms, task) > (?, ?) ORDER BY at_ms, task LIMIT ?`),
    falling: prepare(
      `${entries} AND at_ms >= ? AND at_ms < ? AND (at_ms, task) < (?, ?) ORDER BY at_ms DESC, task DESC LIMIT ?`,
    ),
    unexpired: prepare(
      `${entries} AND expires_ms > ? AND (at_ms, task) < (?, ?) ORDER BY at_ms DESC, task DESC LIMIT ?`,
    ),
    slots: prepare('SELECT task, number FROM slot WHERE agent = ? AND number > ? ORDER BY number LIMIT ?'),
    fresh: prepare(`${claimable} AND from_ms = 0 ORDER BY at_ms, task LIMIT ?`),
    handedOut: prepare(`${claimable} AND from_ms > 0 AND from_ms <= ? ORDER BY from_ms, at_ms, task LIMIT ?`),
    nextFrom: prepare(
      "SELECT from_ms FROM entry WHERE name = 'claimable' AND of = ? AND from_ms > ? ORDER BY from_ms LIMIT 1",
    ),
  };
}

export function createListings(prepare: Prepare, nowMs: () => number): Listings {
  const statements = prepareListings(prepare);
  const { fresh, handedOut, nextFrom } = statements;
  return {
    list(query, ask, { after, limit }) {
      const found = readListing(nowMs, statements, query, ask, after, limit + 1);
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.position ?? null) : null;
      const items = page.map(({ item }) => item);
      return { items: items as Lists[typeof query]['item'][], next };
    },
    listClaimable(agent_id, limit) {
      const atMs = nowMs();
      const now = [...fresh.all(agent_id, limit), ...handedOut.all(agent_id, atMs, HANDED_OUT_MAX)];
      const next = nextFrom.get(agent_id, atMs);
      return {
        request_ids: now
          .sort(compareRows)
          .slice(0, limit)
          .map(([, task]) => String(task)),
        nextMs: next ? Number(next[0]) : null,
      };
    },
  };
}

type Item = { readonly item: Lists[keyof Lists]['item']; readonly position: string };

function readListing(
  nowMs: () => number,
  statements: Statements,
  query: keyof Lists,
  ask: object,
  after: string | undefined,
  limit: number,
): readonly Item[] {
  const { rising, unexpired, slots } = statements;
  const from = (start: Row): Row => (after === undefined ? start : readPosition(after));
  switch (query) {
    case 'slots': {
      const { agent_id } = ask as Lists['slots']['ask'];
      const found = slots.all(agent_id, Number(after ?? 0), limit);
      return found.map(([task, number]) => ({
        item: { request_id: String(task) },
        position: String(number),
      }));
    }
    case 'waiting': {
      const { tags } = ask as Lists['waiting']['ask'];
      return readWaiting(statements, tags, from(OLDEST), limit).map(toItem);
    }
    case 'waitingForAnswer':
      return rising.all('waiting-for-answer', '', ...from(OLDEST), limit).map(toPositionedItem);
    case 'unreported': {
      const { agent_id } = ask as Lists['unreported']['ask'];
      return unexpired.all('unreported', agent_id, nowMs(), ...from(NEWEST), limit).map(toItem);
    }
    case 'tasks':
      return readTasks(statements, ask, from(NEWEST), limit).map(toPositionedItem);
  }
}

function toItem(row: Row): Item {
  return { item: { request_id: String(row[1]) }, position: positionOf(row) };
}

function toPositionedItem(row: Row): Item {
  const position = positionOf(row);
  return { item: { request_id: String(row[1]), position }, position };
}

function readTasks({ falling }: Statements, ask: TasksAsk, [ms, task]: Row, limit: number): readonly Row[] {
  const { session, agent_id, open, outcome, fromMs = 0, toMs = LAST_MS } = ask;
  const read = (name: IndexEntry['index'], of: string): readonly Row[] =>
    falling.all(name, of, fromMs, toMs, ms, task, limit);
  if (session !== undefined) return read('by-session', session);
  if (agent_id !== undefined) return read('by-agent', agent_id);
  if (outcome !== undefined) return read('by-outcome', outcome);
  if (open === undefined) return read('all', '');
  if (open === 'waiting') return read('waiting', '');
  if (open !== true) return read('open', open);
  const both = [...read('open', 'pending'), ...read('open', 'running')];
  return both.sort((a, b) => compareRows(b, a)).slice(0, limit);
}

/** A task that waits for several of the tags comes once. */
function readWaiting(
  { rising }: Statements,
  tags: readonly string[] | undefined,
  after: Row,
  limit: number,
): readonly Row[] {
  if (!tags) return rising.all('waiting', '', ...after, limit);
  const found = tags.flatMap((tag) => rising.all('waiting-for', tag, ...after, limit));
  return [...new Map(found.map((row) => [row[1], row])).values()].sort(compareRows).slice(0, limit);
}
