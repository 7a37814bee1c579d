/**
 * The scenarios that the kit plays against a gateway, each once in a run. A scenario returns everything that
 * it saw and requires almost nothing: the checks look at it. If it cannot go on, it throws a finding, which
 * then counts for all checks that look at it.
 */
import { type Fields, requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { type Answer, type EventStream, requireObject } from './subject.ts';

/** A task from its submission to its end, as its client sees it. */
export type Played = {
  readonly submission: Fields;
  readonly submitted: Answer;
  readonly fresh: Fields;
  readonly done: Fields;
  /** The data of its `task_done`, as a text and as JSON. */
  readonly data: string;
  readonly event: Fields;
  readonly stream: EventStream;
};

const TERMINAL = ['success', 'failed'];

/** Waits until an agent has the task. */
function assigned(kit: Kit, request_id: unknown): Promise<Fields> {
  return kit.until('an agent has the task', async () => {
    const task = await kit.get(request_id);
    requireThat(
      !TERMINAL.includes(String(task.status)),
      `A task for a free agent ended: ${task.error_info}.`,
    );
    return task.agent_id === null || task.agent_id === undefined ? undefined : task;
  });
}

/** Waits until the task has ended. */
function ended(kit: Kit, request_id: unknown): Promise<Fields> {
  return kit.until('the task ends', async () => {
    const task = await kit.get(request_id);
    return TERMINAL.includes(String(task.status)) ? task : undefined;
  });
}

/** Returns the data of the stream's events as JSON; an empty object for data that is no JSON. */
function readEvents({ events }: EventStream): readonly { readonly data: string; readonly event: Fields }[] {
  return events.map(({ data }) => {
    try {
      return { data, event: JSON.parse(data) };
    } catch {
      return { data, event: {} };
    }
  });
}

function eventOf(kit: Kit, stream: EventStream, request_id: unknown) {
  return kit.until('its `task_done` is on the stream', () =>
    readEvents(stream).find(({ event }) => event.request_id === request_id),
  );
}

/** Subscribes, submits, lets `end` end the task, and reads how it ended. */
async function play(
  kit: Kit,
  tags: readonly string[],
  more: Fields,
  end: (request_id: unknown) => Promise<unknown>,
): Promise<Played> {
  const submission = {
    cli_session_id: kit.name('session'),
    task_type: kit.name('type'),
    timeout: 120,
    ...more,
  };
  const stream = await kit.openStream(submission.cli_session_id);
  const submitted = await kit.submit(tags, submission);
  const fresh = requireObject(submitted);
  await end(fresh.request_id);
  const done = await ended(kit, fresh.request_id);
  const { data, event } = await eventOf(kit, stream, fresh.request_id);
  return { submission: { ...submission, task_tags: tags }, submitted, fresh, done, data, event, stream };
}

/** An agent reports `success` with a reply, an output and a key of its own. */
export async function succeeded(kit: Kit) {
  const agent = await kit.startAgent();
  const payload = {
    text: `你好 ${kit.random(1_000)}`,
    list: [1, 'é', null, true],
    inner: { n: kit.random(9) },
  };
  const result = { reply: '收到', output: `完成 ${kit.random(1_000)}`, files: [kit.random(9)] };
  let running: Fields = {};
  let reported: Answer | undefined;
  const played = await play(kit, [agent.tag, kit.name('other')], { payload }, async (request_id) => {
    running = await assigned(kit, request_id);
    reported = await kit.report(agent, request_id, { result });
  });
  return { ...played, agent, payload, result, running, reported };
}

/** An agent reports `success` with only `output`. */
export async function outputAlone(kit: Kit) {
  const agent = await kit.startAgent();
  const played = await play(kit, [agent.tag], {}, async (request_id) => {
    await assigned(kit, request_id);
    await kit.report(agent, request_id, { result: { output: '结束' } });
  });
  return played;
}

/** An agent reports `failed` with a text. */
export async function failedByAgent(kit: Kit) {
  const agent = await kit.startAgent();
  const error_info = `Division by zero ${kit.random(1_000)}`;
  const played = await play(kit, [agent.tag], {}, async (request_id) => {
    await assigned(kit, request_id);
    await kit.report(agent, request_id, { status: 'failed', progress: 50, error_info });
  });
  return { ...played, error_info };
}

/** Cancels a task that an agent has, and then once more. */
export async function cancelled(kit: Kit) {
  const agent = await kit.startAgent();
  let first: Answer | undefined;
  const played = await play(kit, [agent.tag], {}, async (request_id) => {
    await assigned(kit, request_id);
    first = await kit.cancel(request_id);
    requireObject(first);
  });
  const second = await kit.cancel(played.fresh.request_id);
  const after = await kit.get(played.fresh.request_id);
  return { ...played, agent, first: first as Answer, second, after };
}

/** Cancels a task as soon as it is submitted. */
export async function cancelledAtOnce(kit: Kit) {
  const agent = await kit.startAgent();
  return play(kit, [agent.tag], {}, async (request_id) => requireObject(await kit.cancel(request_id)));
}

/** Plays a task of one second, on which its agent never reports. */
export async function timedOut(kit: Kit) {
  const agent = await kit.startAgent();
  const played = await play(kit, [agent.tag], { timeout: 1 }, (request_id) => assigned(kit, request_id));
  return { ...played, agent };
}

/** Submits a task that shares a tag with no agent. */
export async function unmatched(kit: Kit) {
  return play(kit, [kit.name('nowhere')], {}, async () => {});
}

/** Starts two agents with a tag each, and submits a task for either. */
export async function matched(kit: Kit) {
  const agents = [await kit.startAgent(), await kit.startAgent()];
  const chosen: unknown[] = [];
  for (const { tag } of agents.toReversed()) {
    const task = requireObject(await kit.submit([kit.name('other'), tag]));
    chosen.push((await assigned(kit, task.request_id)).agent_id);
    await kit.cancel(task.request_id);
  }
  return { expected: agents.toReversed().map(({ agent_id }) => agent_id), chosen };
}

/** Gives an agent with one slot two tasks; another agent is full from the start. */
export async function full(kit: Kit) {
  const one = await kit.startAgent({ max_concurrent: 1 });
  const none = await kit.startAgent({ max_concurrent: 1, current_load: 1 });
  const first = requireObject(await kit.submit([one.tag]));
  const has = await assigned(kit, first.request_id);
  const others = [requireObject(await kit.submit([one.tag])), requireObject(await kit.submit([none.tag]))];
  const seen = [];
  for (const { request_id } of others) seen.push(await ended(kit, request_id));
  await kit.cancel(first.request_id);
  return { expected: one.agent_id, has, seen };
}

/** Lets a subscriber come after one task of its session has ended, and before another one does. */
export async function replayed(kit: Kit) {
  const session = kit.name('session');
  const [own, other] = [{ cli_session_id: session }, { cli_session_id: kit.name('session') }];
  const nowhere = [kit.name('nowhere')];
  const before = requireObject(await kit.submit(nowhere, own)).request_id;
  const foreign = requireObject(await kit.submit(nowhere, other)).request_id;
  for (const request_id of [before, foreign]) await ended(kit, request_id);
  const stream = await kit.openStream(session);
  await eventOf(kit, stream, before);
  const live = requireObject(await kit.submit(nowhere, own)).request_id;
  await eventOf(kit, stream, live);
  return { expected: [before, live], seen: readEvents(stream).map(({ event }) => event.request_id) };
}

/** Has an agent register, send a heartbeat, unregister, and send another heartbeat. */
export async function unregistered(kit: Kit) {
  const agent = await kit.startAgent();
  const send = (path: string) =>
    kit.subject.call('POST', `/api/agent/${path}`, { json: { agent_id: agent.agent_id } });
  const beat = await send('heartbeat');
  const left = await send('unregister');
  const late = await send('heartbeat');
  const task = requireObject(await kit.submit([agent.tag]));
  return { agent, beat, left, late, task: await ended(kit, task.request_id) };
}

/** Reads the administrator's list while an agent is registered. */
export async function listed(kit: Kit): Promise<{ readonly agent: Agent; readonly listing: Answer }> {
  const { adminAuth = '' } = kit;
  const agent = await kit.startAgent();
  requireObject(agent.registered);
  const headers = { 'x-admin-auth': adminAuth };
  return { agent, listing: await kit.subject.call('GET', '/api/admin/agents', { headers }) };
}

/** Opens as many streams as one session may have, and one more; then closes one of them. */
export function manyStreams(kit: Kit) {
  return fillStreams(kit, '/api/cli/events', { cli_session_id: kit.name('session') });
}

/** Does the same with the output of one task. */
export async function manyReaders(kit: Kit) {
  const waiting = { queue_timeout: 3_600, timeout: 3_600 };
  const { request_id } = requireObject(await kit.submit([kit.name('nowhere')], waiting));
  return await fillStreams(kit, `/api/cli/tasks/${request_id}/output`);
}

async function fillStreams(kit: Kit, path: string, more: Readonly<Record<string, string>> = {}) {
  const query = { ...more, auth: kit.auth };
  const headers = { accept: 'text/event-stream' };
  const open = () => kit.subject.openStream(query, headers, path);
  const streams = await Promise.all(Array.from({ length: 100 }, open));
  try {
    const statuses = new Set(streams.map(({ status }) => status));
    requireEqual([...statuses], [200], 'The statuses of a hundred streams');
    const refused = await kit.subject.call('GET', path, { query, headers });
    streams.pop()?.close();
    const again = await kit.until('one more stream opens when another one was closed', async () => {
      const stream = await open();
      stream.close();
      return stream.status === 200 ? stream : undefined;
    });
    return { refused, again };
  } finally {
    for (const stream of streams) stream.close();
  }
}
