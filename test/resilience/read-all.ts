/** All that a store of a known content says when it is asked for everything: each answer as text, or as an error. */
import type { Store } from '../../server/ports/store.ts';

/** What was put into the store, by the names under which it is asked for. */
export type Contents = {
  readonly tasks: readonly string[];
  readonly keys: readonly string[];
  readonly agents: readonly string[];
  readonly sessions: readonly string[];
};

/** What a question got: the value as JSON (`undefined`: absent), or the words of the error. */
export type Said = { readonly value: string | undefined } | { readonly error: string };

/** A feed or a listing that does not end by then goes in circles. */
const ITEMS_MAX = 10_000;

/** Asks for every task, input, key, agent, feed and listing; answers by question. Never rejects. */
export async function readEverything(store: Store, contents: Contents): Promise<ReadonlyMap<string, Said>> {
  const said = new Map<string, Said>();
  const ask = async (question: string, answer: () => Promise<unknown>): Promise<void> => {
    try {
      said.set(question, { value: JSON.stringify(await answer()) });
    } catch (error) {
      said.set(question, { error: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const id of contents.tasks) {
    await ask(`task ${id}`, async () => (await store.get('task', id))?.value);
    await ask(`input ${id}`, async () => (await store.get('input', id))?.value);
  }
  for (const id of contents.keys) await ask(`key ${id}`, async () => (await store.get('key', id))?.value);
  await ask('agents', async () =>
    (await store.list('agents', {}, { limit: ITEMS_MAX })).items.map(({ record }) => record),
  );
  for (const agent_id of contents.agents) {
    await ask(
      `slots of ${agent_id}`,
      async () => (await store.list('slots', { agent_id }, { limit: ITEMS_MAX })).items,
    );
  }
  await ask('tasks', () => readListing(store, {}));
  for (const session of contents.sessions) {
    await ask(`tasks of ${session}`, () => readListing(store, { session }));
    await ask(`feed of ${session}`, () => readStored(store, session));
  }
  return said;
}

async function readListing(store: Store, ask: { session?: string }): Promise<readonly string[]> {
  const places: string[] = [];
  let after: string | undefined;
  do {
    const page = await store.list('tasks', ask, { limit: 7, ...(after !== undefined && { after }) });
    places.push(...page.items.map(({ position }) => position));
    after = page.next ?? undefined;
    if (places.length > ITEMS_MAX) throw new Error('the listing does not end');
  } while (after !== undefined);
  return places;
}

/** The stored events alone: once nothing has come for a few turns of the event loop, the reader waits for live ones. */
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
  for (let known = -1; known !== events.length && !failed; ) {
    known = events.length;
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  stop.abort('read');
  await reading;
  return events;
}
