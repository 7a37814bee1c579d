/**
 * Commits that share a script on Redis: the writes of the first one are deferred to the end of the script,
 * and must not hide from the second one; nor may the script remember too long what a commit before them had
 * read. Each pair of the commits below, in one script, has the results of the same two in a script of its own
 * each, and leaves the same keys.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TaskState } from '../../server/domain/task.ts';
import { encodeCommit } from '../../server/engines/redis/commit/commit-arguments.ts';
import { scripts } from '../../server/engines/redis/scripts.ts';
import type { Batch, DueChange, Revision, Store, Stored } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { buildEnding } from './alike-commits.ts';
import {
  agentRef,
  buildAgent,
  buildInput,
  buildState,
  type MoreOfTask,
  submissionOf,
  taskRef,
  writeAgent,
  writeTask,
} from './store-under-test.ts';
import { readKeys } from './stored-keys.ts';

const START_MS = 1_700_000_000_000;
const EPOCH = 'the-epoch';
const STORE = { nowMs: () => START_MS } as Store;
const registrationOf = (agent_id: string): string => `registration of ${agent_id}`;

let redis: RedisProcess;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
  client = createClient({ url: redis.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await redis.dispose();
});

/** The tasks and agents as the next commit finds them, if those before it are applied. */
type Known = {
  readonly tasks: Map<string, Stored<TaskState>>;
  readonly agents: Map<string, Revision>;
};
type Build = (known: Known) => Batch;

const RUNNING = { status: 'running', agent_id: 'A', assignees: ['A'], delivery: deliveryOf(null) } as const;

function deliveryOf(attemptMs: number | null) {
  return {
    assignedMs: START_MS,
    attempts: 1,
    untaken: 0,
    attemptMs,
    acknowledged: false,
    disowned: 0,
    nextMs: START_MS,
    busy: [],
    pull: true,
  };
}

/** Every store begins with these: A has no free slot, B has one, and a task waits for A. */
const BEGINNING: readonly Build[] = [
  () => writeAgent('A', 'absent', buildAgent('A')),
  () => writeAgent('B', 'absent', buildAgent('B', { agent_tags: ['b'] })),
  submits('held', RUNNING, {
    due: [{ ref: taskRef('held'), atMs: 'held', lease: 'its lease', isNew: true }],
    slots: [{ op: 'grant', agent_id: 'A', request_id: 'held', registration: registrationOf('A') }],
  }),
  submits('pending', {}, { due: [{ ref: taskRef('pending'), atMs: START_MS }] }),
  submits('waits', { waiting: true }),
  changes('held', {}, writes('held', 'w', 0)),
];

/** Conflict `waiting`; the script has read A and whether a task waits for it, and may remember both. */
const readsFirst: Build = () => ({
  writes: [],
  slots: [{ op: 'release', agent_id: 'A', request_id: 'none' }],
  noneWaiting: ['a'],
});

/** Commits that defer and commits that read: each operation is in one of them at least. */
const COMMITS: Readonly<Record<string, Build>> = {
  'settles the task that holds the slot': settles('held', 'success', 'A'),
  'settles it under its lease': settles('held', 'failed', 'A', 'its lease'),
  'settles the waiting task': settles('waits', 'cancelled'),
  'settles the pending task for want of an agent': settles('pending', 'no_agent'),
  'hands the task out': changes('held', { delivery: deliveryOf(START_MS) }),
  'moves the task to another agent': changes(
    'held',
    { agent_id: 'B', assignees: ['A', 'B'] },
    {
      slots: [
        { op: 'release', agent_id: 'A', request_id: 'held' },
        { op: 'grant', agent_id: 'B', request_id: 'held', registration: registrationOf('B') },
      ],
    },
  ),
  'releases the slot and takes it again': () => ({
    writes: [],
    slots: [
      { op: 'release', agent_id: 'A', request_id: 'held' },
      { op: 'grant', agent_id: 'A', request_id: 'held', registration: registrationOf('A') },
    ],
  }),
  'assigns the pending task to A': assigns('A'),
  'assigns it to B, for which no task waits': assigns('B', { noneWaiting: ['b'] }),
  'assigns it to A, unless a task waits': assigns('A', { noneWaiting: ['a'] }),
  'lets the pending task wait': changes('pending', { waiting: true, task_tags: ['a', 'b'] }),
  'submits a task': submits('new', {}, { atMost: { openTasks: 4 } }),
  'submits the last task that is allowed': submits('other', {}, { atMost: { openTasks: 4 } }),
  'submits one more than is allowed': submits('further', {}, { atMost: { openTasks: 3 } }),
  'keeps the lease': retimes({ ref: taskRef('held'), atMs: 'held', lease: 'its lease' }),
  'ends the lease': retimes({ ref: taskRef('held'), atMs: START_MS + 5 }),
  'ends the lease unless it holds': retimes({ ref: taskRef('held'), atMs: START_MS + 5, unlessHeld: true }),
  'removes the due entry': retimes({ ref: taskRef('held'), atMs: null }),
  'begins a lease of the agent': retimes({ ref: agentRef('A'), atMs: 'held', lease: 'of A', isNew: true }),
  'ends the lease of the agent': retimes({ ref: agentRef('A'), atMs: START_MS + 9, lease: 'of A' }),
  'removes the due entry of the agent': retimes({ ref: agentRef('A'), atMs: null }),
  'abandons where no agent is free for a': () => ({ writes: [], noneFree: ['a'] }),
  'abandons where no agent is free for b': () => ({ writes: [], noneFree: ['b'] }),
  'registers A again, with two slots': registers('A', { max_concurrent: 2, registration: 'new' }),
  'registers A with other tags': registers('A', { agent_tags: ['b'], max_concurrent: 2 }),
  'registers an agent, at most three': registers('C', {}, { atMost: { agents: 3 } }),
  'removes A': removes('A'),
  'removes B': removes('B'),
  'finds no contact of A': () => ({ writes: [], noContactAfter: { agent_id: 'A', atMs: START_MS - 1 } }),
  'appends output': appends('w', 1),
  'appends the same and more': appends('w', 1, ['{"text":"b"}', '{"text":"c"}']),
  'appends behind a gap': appends('w', 2),
  'appends as another writer': appends('v', 1),
  'stores details': changes('held', { hasReply: true }, { details: { reply: 'on it' } }),
  'removes the details': changes('held', {}, { details: null }),
  'adds output with the state': changes('held', { progress: 7 }, writes('held', 'w', 1)),
  'begins another writer': changes('held', {}, writes('held', 'v', 0)),
  'begins output of the pending task': changes('pending', {}, writes('pending', 'p', 0)),
  'ends the writer': changes('held', {}, { output: { request_id: 'held', begins: { writer: null } } }),
  'keeps a key': () => ({ writes: [keyOf('one')] }),
  'keeps the same key': () => ({ writes: [keyOf('other')] }),
};

function keyOf(request_id: string) {
  const value = { request_id, fingerprint: 'f', create_time: 1 };
  return { kind: 'key', id: 'key', expect: 'absent', value, keepMs: 1_000 } as const;
}

/** One piece of a writer, or more; at its piece 0 it begins. */
function writes(request_id: string, writer: string, from: number): MoreOfTask {
  const begins = from === 0 ? { begins: { writer, reset: '{"reset":true}' } } : {};
  return { output: { request_id, ...begins, append: { pieces: ['{"text":"a"}'], by: { writer, from } } } };
}

function appends(writer: string, from: number, pieces: readonly string[] = ['{"text":"b"}']): Build {
  return () => ({ writes: [], output: { request_id: 'held', append: { pieces, by: { writer, from } } } });
}

function submits(id: string, more: Partial<TaskState>, batch: MoreOfTask = {}): Build {
  return () => submissionOf(buildInput(id), buildState(STORE, more), batch);
}

function changes(id: string, more: Partial<TaskState>, batch: MoreOfTask = {}): Build {
  return ({ tasks }) => {
    const before = tasks.get(id);
    if (!before) throw new Error(`no task ${id}`);
    // A settled task is not written again.
    if (before.value.settledMs !== null) return { writes: [], noneWaiting: ['b'] };
    return writeTask(id, before, { ...before.value, ...more }, batch);
  };
}

function settles(
  id: string,
  how: Parameters<typeof buildEnding>[0],
  agent_id?: string,
  lease?: string,
): Build {
  const ending = { ...buildEnding(how, START_MS), waiting: false, delivery: null };
  return changes(id, ending, {
    due: [{ ref: taskRef(id), atMs: null, ...(lease && { lease }) }],
    event: { session: 's', request_id: id },
    ...(agent_id && {
      slots: [{ op: 'release' as const, agent_id, request_id: id }],
      unreported: agent_id,
    }),
  });
}

function assigns(agent_id: string, batch: MoreOfTask = {}): Build {
  const registration = registrationOf(agent_id);
  return changes(
    'pending',
    { ...RUNNING, waiting: false, agent_id, assignees: [agent_id] },
    {
      slots: [{ op: 'grant', agent_id, request_id: 'pending', registration }],
      due: [{ ref: taskRef('pending'), atMs: START_MS + 7 }],
      ...batch,
    },
  );
}

function retimes(change: DueChange): Build {
  return () => ({ writes: [], due: [change] });
}

function registers(id: string, more: Parameters<typeof buildAgent>[1], batch: Partial<Batch> = {}): Build {
  return ({ agents }) => writeAgent(id, agents.get(id) ?? 'absent', buildAgent(id, more), batch);
}

function removes(id: string): Build {
  const due = [{ ref: agentRef(id), atMs: null }];
  return ({ agents }) => writeAgent(id, agents.get(id) ?? 'absent', null, { due });
}

/** Encodes the commits in their order, under names that are their numbers. */
function encodeAll(builds: readonly Build[], known: Known, first: number): (readonly string[])[] {
  return builds.map((build, index) => {
    const revision = `name-${first + index}`;
    const batch = build(known);
    for (const { kind, id, value } of batch.writes) {
      if (kind === 'task') known.tasks.set(id, { value, revision });
      if (kind === 'agent' && value === null) known.agents.delete(id);
      if (kind === 'agent' && value !== null) known.agents.set(id, revision);
    }
    return encodeCommit(batch, { revision, notAfterMs: START_MS + 1_000 }).args as readonly string[];
  });
}

async function run(prefix: string, commits: readonly (readonly string[])[]): Promise<readonly string[]> {
  const args = [scripts.commitOutput.sha, '1', prefix, EPOCH, String(START_MS), 'process', 'hints', 'own'];
  return (await client.sendCommand(['EVALSHA', ...args, ...commits.flat()])) as unknown as readonly string[];
}

/**
 * Runs the commits in scripts of this many; resolves with the results, the earliest due time, and the keys.
 */
async function runIn(prefix: string, commits: readonly (readonly string[])[], count: number) {
  const known: Known = { tasks: new Map(), agents: new Map() };
  await client.set(`${prefix}epoch`, EPOCH);
  await run(prefix, encodeAll(BEGINNING, known, 1));
  const results: string[] = [];
  const due: string[] = [];
  for (let at = 0; at < commits.length; at += count) {
    const [dueMs = '', ...some] = await run(prefix, commits.slice(at, at + count));
    if (dueMs !== '') due.push(dueMs);
    // Which of several free agents is named, Redis chooses.
    results.push(...some.map((result) => (result.startsWith('free_agent') ? 'free_agent' : result)));
  }
  return { results, dueMs: due.sort()[0], keys: await readKeys(client, prefix) };
}

const NAMES = Object.keys(COMMITS);

test('the commits have each operation that the script knows', () => {
  const known: Known = { tasks: new Map(), agents: new Map() };
  const beginning = encodeAll(BEGINNING, known, 1);
  // Each finds the store as the beginning leaves it.
  const others = Object.values(COMMITS).flatMap((build) =>
    encodeAll([build], { tasks: new Map(known.tasks), agents: new Map(known.agents) }, 10),
  );
  const sent = [...beginning, ...others].flatMap(([words = '']) => [...(words.split(' ')[2] ?? '')]);
  const compared = [...scripts.commitOutput.text.matchAll(/letter == (\d+)/g)].map(([, byte]) =>
    Number(byte),
  );
  const letters = [...new Set(compared)].map((byte) => String.fromCharCode(byte));
  expect([...new Set(sent)].filter((sign) => /\D/.test(sign)).sort()).toEqual(letters.sort());
});

test('two commits of one script do the same as each in a script of its own', async () => {
  await client.scriptLoad(scripts.commitOutput.text);
  const seen = new Set<string>();
  for (const first of NAMES) {
    await client.flushAll();
    await Promise.all(NAMES.map((second) => comparePair(first, second, seen)));
  }
  // Pairs in which a kind of result never comes compare little.
  const others = ['contact', 'free_agent', 'full', 'lease', 'ok', 'revision', 'slot', 'waiting'];
  expect([...seen].sort()).toEqual([...others, 'gap', 'settled', 'writer'].sort());
});

async function comparePair(first: string, second: string, seen: Set<string>): Promise<void> {
  const known: Known = { tasks: new Map(), agents: new Map() };
  encodeAll(BEGINNING, known, 1);
  const builds = [readsFirst, ...[first, second].map((name) => COMMITS[name] as Build)];
  const commits = encodeAll(builds, known, 10);
  const together = await runIn(`{together ${second}}:`, commits, 3);
  const alone = await runIn(`{alone ${second}}:`, commits, 1);
  expect(together, `a commit that ${first}, then one that ${second}`).toEqual(alone);
  for (const result of together.results.slice(1)) seen.add(result.split(' ')[0] ?? '');
}
