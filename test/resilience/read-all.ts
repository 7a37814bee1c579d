/** All that a store with known contents returns: each value as text, or its error. */
import type { Store } from '../../server/ports/store.ts';

/** What was put into the store, by the ids under which it is read. */
export type Contents = {
  readonly tasks: readonly string[];
  readonly keys: readonly string[];
  readonly agents: readonly string[];
  readonly sessions: readonly string[];
};

/** What one read resolved with: the value as JSON (`undefined`: absent), or the message of the error. */
export type Reading = { readonly value: string | undefined } | { readonly error: string };

/** A feed or a listing that does not end by then goes in circles. */
const ITEMS_MAX = 10_000;

/** Reads every task, input, key, agent, feed and listing; by the name of what was read. Never rejects. */
export async function readAll(store: Store, contents: Contents): Promise<ReadonlyMap<string, Reading>> {
  const readings = new Map<string, Reading>();
  const add = async (name: string, read: () => Promise<unknown>): Promise<void> => {
    try {
      readings.set(name, { value: JSON.stringify(await read()) });
    } catch (error) {
      readings.set(name, { error: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const id of contents.tasks) {
    await add(`task ${id}`, async () => (await store.get('task', id))?.value);
    await add(`input ${id}`, async () => (await store.get('input', id))?.value);
  }
  for (const id of contents.keys) await add(`key ${id}`, async () => (await store.get('key', id))?.value);
  await add('agents', async () =>
    (await store.list('agents', {}, { limit: ITEMS_MAX })).items.map(({ record }) => record),
  );
  for (const agent_id of contents.agents) {
    await add(
      `slots of ${agent_id}`,
      async () => (await store.list('slots', { agent_id }, { limit: ITEMS_MAX })).items,
    );
  }
  await add('tasks', () => readListing(store, {}));
  for (const session of contents.sessions) {
    await add(`tasks of ${session}`, () => readListing(store, { session }));
    await add(`feed of ${session}`, () => readStored(store, session));
  }
  return readings;
}

async function readListing(store: Store, filter: { session?: string }): Promise<readonly string[]> {
  const positions: string[] = [];
  let after: string | undefined;
  do {
    const page = await store.list('tasks', filter, { limit: 7, ...(after !== undefined && { after }) });
    positions.push(...page.items.map(({ position }) => position));
    after = page.next ?? undefined;
    if (positions.length > ITEMS_MAX) throw new Error('the listing does not end');
  } while (after !== undefined);
  return positions;
}

/**
 * The stored events alone: when nothing has come for a few ticks of the event loop, the rest would be live
 * ones.
 */
async function readStored(store: Store, session: string): Promise<readonly string[]> {
  const stop = new AbortController();
  const events: string[] = [];
  const reading = (async () => {
    for await (const item of store.feed(session, null, stop.signal)) {
      events.push(item.gap ? 'gap' : `${item.cursor} ${item.request_id}`);
      if (events.length > ITEMS_MAX) throw new Error('the feed does not end');
    }
  })();
  let failed = false;
  reading.catch(() => {
    failed = true;
  });
  for (let before = -1; before !== events.length && !failed; ) {
    before = events.length;
    for (let tick = 0; tick < 3; tick += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  stop.abort('read');
  await reading;
  return events;
}
