/** The checks of the guide's section "Limits" (L1): of what is just within a limit, and just beyond. */
import type { Check } from './check.ts';
import { type Fields, requireEqual, requireThat } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import { beginWork, filled } from './played-outputs.ts';
import { manyQuestions } from './played-questions.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireProblem, requireStatus } from './subject.ts';

const SUBMIT = '/api/cli/tasks';
const BODY_BYTES = 2 ** 20;
const WRITE_BYTES = 2 ** 16;
const LEVELS = 100;
const KEYS = 20_000;
const PARTS = 20_000;
const NAME_LENGTH = 256;
/** A character of two UTF-16 code units and one code point. */
const WIDE = '😀';
const LONE_SURROGATE = '\ud83d';

const submission = (kit: Kit, more: Fields = {}): Fields => ({
  auth: kit.auth,
  task_type: 'x',
  task_tags: [],
  payload: {},
  ...more,
});

/** Submits a body of `count` bytes. */
async function submitBytes(kit: Kit, count: number): Promise<Answer> {
  const empty = JSON.stringify(submission(kit, { payload: { text: '' } }));
  const text = 'x'.repeat(count - empty.length);
  return await kit.subject.call('POST', SUBMIT, {
    body: JSON.stringify(submission(kit, { payload: { text } })),
  });
}

function requireRefused(answer: Answer, when: string): void {
  requireProblem(answer, 422, 'validation_failed', when);
}

function requireTaken({ call, status, text }: Answer, when: string): void {
  requireThat(status >= 200 && status < 300, `${call} ${when}: ${status} ${text.slice(0, 120)}.`);
}

/** Returns a payload whose body has `levels` levels, itself included. */
function nested(levels: number): Fields {
  let deep: unknown = [];
  for (let level = 3; level < levels; level += 1) deep = [deep];
  return { deep };
}

function keyed(count: number): Fields {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
}

/** Registers an agent with these fields, and unregisters it. */
async function registerWith(kit: Kit, more: Fields): Promise<Answer> {
  const { agent_id = kit.name('agent') } = more;
  const json = { auth: kit.auth, agent_id, endpoint: 'pull', agent_tags: [], ...more };
  const answer = await kit.subject.call('POST', '/api/agent/register', { json });
  await kit.subject.call('POST', '/api/agent/unregister', { json: { auth: kit.auth, agent_id } });
  return answer;
}

/** Returns the calls that take a name, each as a function of it. */
function namingCalls(kit: Kit): Readonly<Record<string, (name: string) => Promise<Answer>>> {
  return {
    task_type: (name) => kit.submit([], { task_type: name }),
    cli_session_id: (name) => kit.submit([], { cli_session_id: name }),
    'a tag of a task': (name) => kit.submit(['x', name]),
    agent_id: (name) => registerWith(kit, { agent_id: name }),
    'a tag of an agent': (name) => registerWith(kit, { agent_tags: ['x', name] }),
  };
}

/** Returns a name of this run with so many code points. */
function nameOf(kit: Kit, codePoints: number): string {
  const start = kit.name('');
  return start + WIDE.repeat(codePoints - start.length);
}

export const LIMIT_CHECKS: Readonly<Record<string, Check>> = {
  'limits.body-payload-or-result': async (kit) => {
    requireTaken(await submitBytes(kit, BODY_BYTES), 'of 1 MiB');
    const tooLarge = (answer: Answer, when: string) => requireProblem(answer, 413, 'payload_too_large', when);
    tooLarge(await submitBytes(kit, BODY_BYTES + 1), 'of 1 MiB and a byte');
    // Each number is four characters here, and twenty-one when it is written again.
    const body = JSON.stringify(submission(kit, { payload: { grows: 0 } })).replace(
      ':0',
      `:[${'1e20,'.repeat(60_000)}0]`,
    );
    tooLarge(await kit.subject.call('POST', SUBMIT, { body }), 'with a payload that grows');
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const { request_id } = requireObject(await kit.submit([agent.tag]));
    const output = 'x'.repeat(BODY_BYTES);
    tooLarge(await kit.report(agent, request_id, { result: { output } }), 'of a report of more than 1 MiB');
  },
  'limits.levels-of-nesting-keys': async (kit) => {
    const submit = (payload: Fields) =>
      kit.subject.call('POST', SUBMIT, { json: submission(kit, { payload }) });
    const own = Object.keys(submission(kit)).length;
    requireTaken(await submit(nested(LEVELS)), 'of 100 levels');
    requireRefused(await submit(nested(LEVELS + 1)), 'of 101 levels');
    requireTaken(await submit(keyed(KEYS - own)), 'of 20,000 keys');
    requireRefused(await submit(keyed(KEYS - own + 1)), 'of 20,001 keys');
  },
  'limits.parts-which-are-texts': async (kit) => {
    // The levels around it: the body, `auth`, `task_type`, `task_tags`, the payload and the list.
    const own = 6;
    const submit = (parts: number) => {
      const list = Array.from({ length: parts - own }, (_, index) => ['', [], {}][index % 3]);
      return kit.subject.call('POST', SUBMIT, { json: submission(kit, { payload: { list } }) });
    };
    requireTaken(await submit(PARTS), 'of 20,000 parts');
    requireRefused(await submit(PARTS + 1), 'of 20,001 parts');
  },
  'fields.a-client-session-at': async (kit) => {
    for (const [field, call] of Object.entries(namingCalls(kit))) {
      requireTaken(await call(nameOf(kit, NAME_LENGTH)), `with 256 code points as ${field}`);
      requireRefused(await call(nameOf(kit, NAME_LENGTH + 1)), `with 257 code points as ${field}`);
      requireRefused(await call(`${kit.name('')}${LONE_SURROGATE}`), `with half a character as ${field}`);
      const empty = await call('');
      if (field === 'cli_session_id') requireTaken(empty, 'with an empty session');
      else requireRefused(empty, `with an empty text as ${field}`);
    }
  },
  'fields.the-tags-of-a': async (kit) => {
    const tags = Array.from({ length: 65 }, (_, index) => `${kit.name('tag')}-${index}`);
    for (const send of [
      (task_tags: readonly string[]) => kit.submit(task_tags),
      (agent_tags: readonly string[]) => registerWith(kit, { agent_tags }),
    ]) {
      requireTaken(await send(tags.slice(1)), 'with 64 tags');
      requireRefused(await send(tags), 'with 65 tags');
    }
  },
  'fields.at-most-1-000': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const request_ids = Array.from({ length: 1_001 }, (_, index) => `${kit.prefix}-${index}`);
    for (const path of ['heartbeat', 'claim']) {
      const send = (ids: readonly string[]) => kit.callAs(agent, path, { request_ids: ids });
      requireTaken(await send(request_ids.slice(1)), 'with 1,000 ids');
      requireRefused(await send(request_ids), 'with 1,001 ids');
    }
  },
  'limits.endpoint-2-048-characters': async (kit) => {
    const endpoint = (length: number) => 'http://127.0.0.1:9/'.padEnd(length, 'x');
    requireTaken(await registerWith(kit, { endpoint: endpoint(2_048) }), 'of 2,048 characters');
    requireRefused(await registerWith(kit, { endpoint: endpoint(2_049) }), 'of 2,049 characters');
  },
  'fields.a-text-chosen-by': async (kit) => {
    const send = (key: string) => kit.submit([], {}, { 'idempotency-key': key });
    requireTaken(await send(kit.name('!~ ').padEnd(255, 'x')), 'with a key of 255 characters');
    requireRefused(await send(kit.name('x').padEnd(256, 'x')), 'with a key of 256 characters');
    requireRefused(await send(kit.name('é')), 'with a key that is not ASCII');
  },
  'fields.the-gateway-returns-it': async (kit) => {
    for (const timeout of [0.001, 604_801, 1e300])
      requireEqual(requireObject(await kit.submit([], { timeout })).timeout, timeout, '`timeout`');
    for (const timeout of [0, -1]) requireRefused(await kit.submit([], { timeout }), `of ${timeout}`);
  },
  'fields.seconds-to-wait-for': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const read = (wait: string) =>
      kit.subject.call('GET', `${SUBMIT}/${fresh.request_id}`, { query: { auth: kit.auth, wait } });
    for (const wait of ['0', '0.5', '61', '1e300']) requireTaken(await read(wait), `with \`wait\` ${wait}`);
    requireRefused(await read('-1'), 'with `wait` -1');
    const agent = await kit.startAgent({ endpoint: 'pull' });
    requireStatus(await kit.callAs(agent, 'claim', { wait: 0 }), 204, 'with `wait` 0');
    requireRefused(await kit.callAs(agent, 'claim', { wait: -1 }), 'with `wait` -1');
    await kit.submit([agent.tag]);
    requireTaken(await kit.callAs(agent, 'claim', { wait: 1e300 }), 'with `wait` 1e300');
  },
  'limits.headers-16-kib-within': async (kit) => {
    const send = (bytes: number) =>
      kit.subject.call('GET', '/livez', { headers: { 'x-long': 'x'.repeat(bytes) } });
    requireTaken(await send(15_000), 'with headers of 15 kB');
    requireProblem(await send(17_000), 431, 'headers_too_large', 'with headers of 17 kB');
  },
  'fields.too-many-streams-are': async (kit) => {
    const { refused } = await kit.see(scenario.manyStreams);
    requireProblem(refused, 429, 'too_many_streams', 'of one session, the 101st');
    const ofTask = await kit.see(scenario.manyReaders);
    requireProblem(ofTask.refused, 429, 'too_many_streams', 'of one task, the 101st');
  },
  'fields.the-body-is-larger': async (kit) => {
    const { agent, request_id } = await beginWork(kit);
    const begin = { auth: kit.auth, agent_id: agent.agent_id, request_id, writer: 'w', from: 0 };
    const send = (pieces: readonly Fields[]) =>
      kit.subject.call('POST', '/api/agent/output', { json: { ...begin, pieces } });
    const empty = JSON.stringify({ ...begin, pieces: [{ text: '' }] }).length;
    const sendBytes = (count: number) => send([{ text: 'x'.repeat(count - empty) }]);
    requireTaken(await sendBytes(WRITE_BYTES), 'of 64 KiB');
    const tooLarge = await sendBytes(WRITE_BYTES + 1);
    requireProblem(tooLarge, 413, 'payload_too_large', 'of 64 KiB and a byte');
    const pieces = Array.from({ length: 101 }, (_, data) => ({ data }));
    requireTaken(await send(pieces.slice(1)), 'of 100 pieces');
    requireRefused(await send(pieces), 'of 101 pieces');
  },
  'fields.as-json-at-most': async (kit) => {
    const { taken, refused } = await kit.see(manyQuestions);
    for (const { answer, what } of taken) requireTaken(answer, what);
    for (const { answer, what } of refused) requireRefused(answer, what);
  },
  'limits.output-of-a-task': async (kit) => {
    const { receipts, more } = await kit.see(filled);
    const accepted = [...receipts, more].map((receipt) => receipt.accepted);
    const expected = [...receipts.map(() => true), false];
    requireEqual(accepted, expected, '`accepted` of each piece of 3.5 MiB, and of one more');
  },
  'limits.lengths-count-code-points': async (kit) => {
    const wide = nameOf(kit, NAME_LENGTH);
    const { request_id } = requireObject(
      await kit.submit([wide], { payload: { t: WIDE.repeat(200) }, task_type: wide }),
    );
    const headers = { 'x-admin-auth': requireAdmin(kit) };
    const query = { id: String(request_id) };
    const page = requireObject(await kit.subject.call('GET', '/api/admin/tasks', { query, headers }));
    const [row] = Array.isArray(page.tasks) ? page.tasks : [];
    const preview = String(row?.payload_preview);
    requireThat(
      preview.startsWith('{"t":"😀') && preview.length >= 239 && preview.length <= 240,
      `A preview has ${preview.length} UTF-16 code units: ${preview.slice(0, 40)}…; must have 240.`,
    );
  },
};
