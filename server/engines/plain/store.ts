/**
 * The plain store: the store port in its simplest form, with maps in memory and queries that read everything.
 * The worlds of the simulator use it, and tests compare the other engines with it. Nothing survives the
 * process.
 */
import type { Clock } from '../../ports/clock.ts';
import { countLatestDue, STORE_LIMITS } from '../../ports/limits.ts';
import { type Batch, FeedTrimmed, type Store, StoreUnavailable } from '../../ports/store.ts';
import { createChangeLog } from '../change-log.ts';
import { createContacts } from '../contacts.ts';
import { createDueTimer } from '../due-timer.ts';
import { createNotifications } from '../notifications.ts';
import { watchTopic } from '../watch.ts';
import { commitBatch } from './commit.ts';
import { createQueries } from './queries.ts';
import { trim } from './retention.ts';
import { createPlainState, nextId, type PlainState, setDue } from './state.ts';

/** `wallMs` is read once. `state` is that of an earlier store; by default it is empty. */
type Deps = { readonly clock: Clock; readonly wallMs: () => number; readonly state?: PlainState };

export function createPlainStore({ clock, wallMs, state = createPlainState() }: Deps): Store {
  const offsetMs = wallMs() - clock.monotonicMs();
  const nowMs = (): number => Math.floor(offsetMs + clock.monotonicMs());
  const contacts = createContacts(nowMs());
  Object.assign(state, { nowMs, contacts, changes: createChangeLog(String(nextId(state))) });
  for (const agent_id of state.values.agent.keys()) state.changes.note(agent_id);
  const notifications = createNotifications();
  const earliestMs = (): number | undefined => state.dueOrder.minKey()?.atMs;
  const dueTimer = createDueTimer({ clock, notifications, nowMs, earliestMs });
  let outage: StoreUnavailable | null = null;
  function use(): PlainState {
    if (outage) throw outage;
    return state;
  }
  async function commit(batch: Batch) {
    if (batch.notAfterMs !== undefined && nowMs() > batch.notAfterMs)
      throw new StoreUnavailable('The commit was too late: its caller has already got a response.');
    const topics = new Set<string>();
    const result = commitBatch(use(), batch, topics);
    // As in every engine, other calls may run before the result is there.
    await Promise.resolve();
    for (const topic of topics) if (topic !== 'due') notifications.notify(topic);
    if (topics.has('due')) dueTimer.update();
    return result;
  }
  return {
    nowMs,
    ...createQueries(use),
    commit,
    async appendOutput({ request_id, ...append }) {
      const result = await commit({ writes: [], output: { request_id, append } });
      return (result.ok ? { ok: true, ...result.output } : result) as never;
    },
    async takeDue(limit) {
      const ready = [];
      contacts.noteSweep(nowMs());
      for (const entry of use().dueOrder.keys()) {
        if (entry.atMs > nowMs()) break;
        ready.push(entry);
      }
      const latest = countLatestDue(limit);
      const earliest = ready.splice(0, limit - latest);
      const taken = [...earliest, ...ready.slice(Math.max(0, ready.length - latest))].map(({ ref }) => {
        const lease = `l${nextId(state)}`;
        setDue(state, ref, nowMs() + STORE_LIMITS.leaseMs, lease);
        return { ref, lease };
      });
      dueTimer.update();
      return taken;
    },
    async renewLeases(held) {
      const { due } = use();
      for (const { ref, lease } of held)
        if (due.get(ref)?.lease === lease) setDue(state, ref, nowMs() + STORE_LIMITS.leaseMs, lease);
      dueTimer.update();
    },
    async touch(agent_id, touch) {
      const record = use().values.agent.get(agent_id)?.value;
      if (record) contacts.noteTouch(agent_id, touch, nowMs());
      if (record) state.changes.note(agent_id);
      return record;
    },
    /** A reader knows the number of its last event, so it notices when events after that were removed. */
    async *feed(session, after, signal) {
      const { feeds } = use();
      const listener = notifications.listen([`feed:${session}`], signal);
      try {
        const begun = feeds.get(session);
        const known = begun?.events.find(({ cursor }) => cursor === after);
        let last = known?.number ?? begun?.trimmed ?? 0;
        if (!known && last > 0 && !signal.aborted) yield { gap: true };
        do {
          const { events = [] } = feeds.get(session) ?? {};
          const from = events.findLastIndex(({ number }) => number <= last) + 1;
          for (const { number, ...event } of events.slice(from)) {
            if (signal.aborted) return;
            if ((feeds.get(session)?.trimmed ?? 0) > last)
              throw new FeedTrimmed(`The reader of session "${session}" was too slow: it missed events.`);
            last = number;
            yield { gap: false, ...event };
          }
        } while (await listener.next());
      } finally {
        listener.close();
      }
    },
    watch: (topic, signal) => watchTopic({ notifications, dueTimer, requireUp: use }, topic, signal),
    trim: async (retention, limit) => trim(use(), retention, limit),
    health: () => (outage ? { ok: false, outage } : { ok: true }),
    async close() {
      outage ??= new StoreUnavailable('The store is closed.', { kind: 'closed' });
      notifications.close();
      dueTimer.update();
    },
  };
}
