/** A store that is filled to its limits, written through the engine: by HTTP it would take minutes. */
import { openEmbeddedStore } from '../../../server/engines/embedded/open.ts';
import type { Store } from '../../../server/ports/store.ts';
import { createClock } from '../../../server/system/clock.ts';
import { createIds } from '../../../server/system/ids.ts';
import {
  assign,
  must,
  readState,
  register,
  settle,
  submit,
  writeTask,
} from '../../engines/store-under-test.ts';
import { SILENT } from '../../harness/silent-log.ts';

export const AGENTS = 20_000;
/** Tasks that have ended, all of one session. */
const ENDED = 10_000;
/** Tasks that wait, each with 64 tags of 256 characters that no agent has. */
const WAITING = 1_000;
/** Tasks that one agent holds. */
const HELD = 1_000;
/** Tags that all agents share: each has one of its own beside them. */
export const SHARED = Array.from({ length: 63 }, (_, n) => `shared-${n}`);
/** 64 tags of 256 characters, which no agent has. */
export const LONG = Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(256, 'x'));
export const SESSION = 'full';
/** The agent that holds tasks. */
export const HOLDER = 'agent-0';

export type FullStore = { readonly ended: readonly string[]; readonly held: readonly string[] };

const AT_ONCE = 500;
const HOUR_MS = 3_600_000;

/** Fills a file that does not exist yet. */
export async function fillFile(file: string): Promise<FullStore> {
  const store = await openEmbeddedStore({ storage: `sqlite:${file}`, clock: createClock(), log: SILENT });
  const ids = createIds();
  const newIds = (count: number): readonly string[] =>
    Array.from({ length: count }, () => ids.newRequestId(store.nowMs()));
  const [ended, held, waiting] = [newIds(ENDED), newIds(HELD), newIds(WAITING)];
  await inParts(
    Array.from({ length: AGENTS }, (_, n) => n),
    (n) => register(store, `agent-${n}`, describeAgent(store, n)),
  );
  await inParts(ended, async (id) => {
    await submit(store, id, { cli_session_id: SESSION });
    await settle(store, id);
  });
  await inParts(held, async (id) => {
    await submit(store, id, { task_tags: ['own-0'], deadlineMs: store.nowMs() + HOUR_MS });
    must(await assign(store, id, HOLDER));
  });
  await inParts(waiting, (id) => addWaiting(store, id));
  await store.close();
  return { ended, held };
}

function describeAgent(store: Store, n: number) {
  const agent_tags = [`own-${n}`, ...SHARED];
  return { endpoint: 'pull', agent_tags, max_concurrent: 2_000, registeredMs: store.nowMs() };
}

async function addWaiting(store: Store, id: string): Promise<void> {
  const endMs = store.nowMs() + HOUR_MS;
  await submit(store, id, { task_tags: LONG, deadlineMs: endMs, queueEndMs: endMs });
  const { value, revision } = await readState(store, id);
  const wait = { op: 'join' as const, request_id: id, tags: LONG, sinceMs: value.createdMs };
  const due = [{ ref: `task:${id}` as const, atMs: endMs }];
  must(await store.commit(writeTask(id, revision, { ...value, waiting: true }, { wait, due })));
}

async function inParts<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) {
    await Promise.all(all.slice(from, from + AT_ONCE).map(work));
  }
}
