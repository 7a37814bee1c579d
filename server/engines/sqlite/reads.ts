/** The reads of the engine. Each returns what is committed. */
import { createLargeWork } from '../../async/large-work.ts';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';
import type { Store } from '../../ports/store.ts';
import type { DueTimer } from '../due-timer.ts';
import type { Notifications } from '../notifications.ts';
import { createSingleValues, parseValue, type ReadValue, type StoredText } from '../single-values.ts';
import { watchTopic } from '../watch.ts';
import type { Copies } from './committing.ts';
import { createListings } from './lists.ts';
import { createOutputPages } from './output-pages.ts';
import type { Prepare } from './statements.ts';

type Deps = {
  readonly prepare: Prepare;
  readonly nowMs: () => number;
  readonly copies: Copies;
  readonly notifications: Notifications;
  readonly dueTimer: DueTimer;
  readonly requireReadable: () => void;
};

type Reads = Pick<
  Store,
  | 'get'
  | 'getForCommit'
  | 'getAgentStatus'
  | 'readAgentChanges'
  | 'list'
  | 'listClaimable'
  | 'findSlots'
  | 'readOutput'
  | 'feed'
  | 'watch'
>;

/**
 * Few enough that no other call waits long: a record with 64 tags takes 40 µs, and a start reads all agents.
 */
const CHANGED_PER_PAGE = 250;

export function createReads(deps: Deps): Reads {
  const { prepare, nowMs, copies, notifications, dueTimer, requireReadable } = deps;
  const { statuses } = copies;
  const readText = createSingleValues(createTextRead(prepare, nowMs));
  const listings = createListings(prepare, nowMs);
  const readOutputPage = createOutputPages(prepare);
  const get: Store['get'] = async (kind, id) => {
    requireReadable();
    const copy = copies.values.get(`${kind}/${id}`);
    if (copy) return copy as never;
    const found = await readText(kind, id);
    return found && { value: parseValue(kind, id, found.json), revision: found.revision };
  };
  return {
    get,
    getForCommit: (request_id) => get('task', request_id),
    async getAgentStatus(agent_id) {
      requireReadable();
      return statuses.read(agent_id);
    },
    async readAgentChanges(after) {
      requireReadable();
      const page = copies.changes.read(after, CHANGED_PER_PAGE);
      return { ...page, changed: page.changed.flatMap((id) => statuses.readIfWhole(id) ?? []) };
    },
    async list(query, filter, page) {
      requireReadable();
      return listings.list(query, filter, page);
    },
    async listClaimable(agent_id, limit) {
      requireReadable();
      return listings.listClaimable(agent_id, limit);
    },
    async findSlots(agent_id, request_ids) {
      requireReadable();
      return new Set(request_ids.filter((request_id) => statuses.holdsSlot(agent_id, request_id)));
    },
    async readOutput(request_id, after, limit) {
      requireReadable();
      return readOutputPage(request_id, after, limit);
    },
    async *feed(session, after, signal) {
      requireReadable();
      yield* copies.feeds.read(session, after, signal);
    },
    watch: (topic, signal) =>
      watchTopic({ notifications, dueTimer, requireUp: requireReadable }, topic, signal),
  };
}

/**
 * Reads the text of a value; undefined for an expired key. Texts above 64 KiB are read one after the other,
 * so that a thousand reads of 2 MB do not hold all texts at once.
 */
function createTextRead(prepare: Prepare, nowMs: () => number): ReadValue<StoredText> {
  const prepareRead = (json: string) =>
    prepare(
      `SELECT revision, coalesce(json, (SELECT ${json} FROM large WHERE large.id = large_id)), expires_ms ` +
        'FROM value WHERE kind = ? AND id = ?',
    );
  const find = prepareRead(`iif(octet_length(large.json) <= ${SMALL_LENGTH_MAX}, large.json, NULL)`);
  const findLarge = prepareRead('large.json');
  const largeReads = createLargeWork();
  return async (kind, id) => {
    const found = find.get(kind, id);
    const isLarge = found !== undefined && found[1] === null;
    const row = isLarge ? await largeReads.run(() => findLarge.get(kind, id)) : found;
    const [revision, json, expiresMs] = row ?? [];
    if (revision === undefined || (expiresMs !== null && Number(expiresMs) <= nowMs())) return undefined;
    return { revision: String(revision), json: String(json) };
  };
}
