/**
 * The tables of the SQLite engine. A person may read them with the `sqlite3` shell: times are store time, and
 * ids, tags and sessions are those of the API.
 *
 * SQLite compares whole rows when it looks for a key in a table without row ids. So a text with more than
 * `SHORT_CHARS_MAX` characters is in `large`, and the row names it by `large_id`.
 */
import { OUTCOMES } from '../../domain/history-record.ts';

/** The columns with counts. Tasks are counted by class and by outcome. */
export const COUNT_NAMES = [
  'pending',
  'running',
  'waiting',
  'waiting_for_answer',
  ...OUTCOMES.map((outcome) => `ended_${outcome}` as const),
  'agents',
  'outputs',
  'output_bytes',
  'ended_output_bytes',
  /** The number of the last grant, and the time of the last event. */
  'grants',
  'event_ms',
] as const;

/** Longer texts are stored apart, so that many rows fit on a page. */
export const SHORT_CHARS_MAX = 1_500;

export const SCHEMA = `
-- Single values: states, inputs and details of tasks, records of agents, idempotency keys.
CREATE TABLE value (kind TEXT, id TEXT, revision TEXT NOT NULL, json TEXT, large_id INTEGER, is_open INTEGER,
  expires_ms INTEGER, PRIMARY KEY (id, kind)) WITHOUT ROWID;
CREATE INDEX value_expires ON value (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE TABLE large (id INTEGER PRIMARY KEY, json TEXT NOT NULL);
CREATE TRIGGER value_replaced AFTER UPDATE OF large_id ON value WHEN old.large_id IS NOT NULL
  BEGIN DELETE FROM large WHERE id = old.large_id; END;
CREATE TRIGGER value_removed AFTER DELETE ON value WHEN old.large_id IS NOT NULL
  BEGIN DELETE FROM large WHERE id = old.large_id; END;

-- Where a task stands in the listings: domain/projection.ts says which entries a state has.
CREATE TABLE entry (name TEXT, of TEXT, at_ms INTEGER, task TEXT, from_ms INTEGER, expires_ms INTEGER,
  PRIMARY KEY (name, of, at_ms, task)) WITHOUT ROWID;
CREATE INDEX entry_expires ON entry (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX entry_claimable ON entry (of, from_ms, at_ms, task) WHERE name = 'claimable';
-- The tags of waiting tasks, and how many wait for each.
CREATE TABLE tag (tag TEXT PRIMARY KEY, waiting INTEGER NOT NULL) WITHOUT ROWID;

-- When tasks and agents are looked at next; a lease hides an entry until at_ms.
CREATE TABLE due (ref TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, lease TEXT) WITHOUT ROWID;
CREATE INDEX due_at ON due (at_ms, ref);

-- The agents that have a record, their slots, and for each tag the agents with a free one.
CREATE TABLE agent (id TEXT PRIMARY KEY, registration TEXT NOT NULL, slots_max INTEGER NOT NULL,
  used INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE free_tag (tag TEXT, agent TEXT, PRIMARY KEY (tag, agent)) WITHOUT ROWID;
CREATE INDEX free_tag_agent ON free_tag (agent);
CREATE TABLE slot (agent TEXT, task TEXT, number INTEGER NOT NULL, PRIMARY KEY (agent, task)) WITHOUT ROWID;
CREATE INDEX slot_number ON slot (agent, number);

-- The events of sessions by cursor, and up to which cursor those of a session were trimmed.
CREATE TABLE event (session TEXT, ms INTEGER, n INTEGER, task TEXT, PRIMARY KEY (session, ms, n)) WITHOUT ROWID;
CREATE TABLE feed (session TEXT PRIMARY KEY, trimmed_ms INTEGER, trimmed_n INTEGER, expires_ms INTEGER)
  WITHOUT ROWID;
CREATE INDEX feed_expires ON feed (expires_ms);

-- Settled tasks in the order in which they go, and the steps of the last quarter of an hour that are over.
CREATE TABLE ended (ms INTEGER, task TEXT, json TEXT, session TEXT, n INTEGER, PRIMARY KEY (ms, task))
  WITHOUT ROWID;
CREATE TABLE step (at_ms INTEGER PRIMARY KEY, json TEXT NOT NULL);
-- One row: all counts, and the present step.
CREATE TABLE count (${COUNT_NAMES.map((name) => `${name} INTEGER NOT NULL DEFAULT 0`).join(', ')}, step TEXT);
INSERT INTO count DEFAULT VALUES;

-- How the output of a task stands, and its pieces.
CREATE TABLE output (task TEXT PRIMARY KEY, writer TEXT, replaced TEXT NOT NULL, next INTEGER NOT NULL,
  last INTEGER NOT NULL, bytes INTEGER NOT NULL, is_full INTEGER NOT NULL, is_removed INTEGER NOT NULL,
  ended_ms INTEGER) WITHOUT ROWID;
CREATE INDEX output_ended ON output (ended_ms, task) WHERE ended_ms IS NOT NULL;
CREATE TABLE piece (task TEXT, n INTEGER, json TEXT, large_id INTEGER, PRIMARY KEY (task, n)) WITHOUT ROWID;
CREATE TRIGGER piece_removed AFTER DELETE ON piece WHEN old.large_id IS NOT NULL
  BEGIN DELETE FROM large WHERE id = old.large_id; END;
`;
