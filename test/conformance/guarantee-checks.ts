/** The checks of the guide's section "What is guaranteed" (L1). */
import { awaitAgent, awaitPush, giveTask } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, isJsonObject, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import { type EventStream, requireObject } from './subject.ts';

const SUBMIT = '/api/cli/tasks';
/** How many tasks end in one session. */
const TASKS = 8;

const dataOf = ({ events }: EventStream): readonly Fields[] => events.map(({ data }) => JSON.parse(data));

/** Waits until a stream has the event of a task. */
function eventOf(kit: Kit, stream: EventStream, request_id: unknown): Promise<Fields> {
  return kit.until('its `task_done` is on the stream', () =>
    dataOf(stream).find((event) => event.request_id === request_id),
  );
}

/** Has tasks reported twice and cancelled at the same time, and another one end after them. */
async function raced(kit: Kit) {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const session = { cli_session_id: kit.name('session') };
  const stream = await kit.openStream(session.cli_session_id);
  const ids: unknown[] = [];
  for (let count = 0; count < TASKS; count += 1) ids.push(await giveTask(kit, agent, session));
  for (const _task of ids) requireObject(await kit.callAs(agent, 'claim', { wait: 5 }));
  await Promise.all(
    ids.flatMap((id) => [
      kit.report(agent, id, { result: { output: 'done' } }),
      kit.cancel(id),
      kit.report(agent, id, { status: 'failed', error_info: 'raced' }),
      kit.report(agent, id, { result: { output: 'done' } }),
    ]),
  );
  const last = requireObject(await kit.submit([kit.name('nowhere')], session)).request_id;
  await eventOf(kit, stream, last);
  return { ids, events: dataOf(stream), tasks: await Promise.all(ids.map(kit.get)) };
}

/** Cancels waiting tasks of one session, in another order than it submitted them. */
async function cancelledInOrder(kit: Kit) {
  const session = { cli_session_id: kit.name('session') };
  const live = await kit.openStream(session.cli_session_id);
  const ids: unknown[] = [];
  for (let count = 0; count < TASKS; count += 1) {
    const answer = await kit.submit([kit.name('nowhere')], { queue_timeout: 60, ...session });
    ids.splice(kit.random(count + 1), 0, requireObject(answer).request_id);
  }
  for (const id of ids) requireObject(await kit.cancel(id));
  await eventOf(kit, live, ids.at(-1));
  const late = await kit.openStream(session.cli_session_id);
  await eventOf(kit, late, ids.at(-1));
  return { ids, streams: [live, late] };
}

/** Has a task move from a busy agent to another one. */
export async function movedFromBusy(kit: Kit) {
  const busy = await kit.startAgent({}, 503);
  const request_id = await giveTask(kit, busy);
  await awaitPush(kit, busy);
  const other = await kit.startAgent({ agent_tags: [busy.tag] });
  await awaitAgent(kit, request_id, other);
  return { busy, other, request_id };
}

/** The headers that each push must have besides its id. */
const PUSH_HEADERS: readonly (readonly [string, RegExp])[] = [
  ['webhook-timestamp', /^\d+$/],
  ['task-remaining', /^\d+(\.\d+)?$/],
  ['traceparent', /^00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/],
];

export const GUARANTEE_CHECKS: Readonly<Record<string, Check>> = {
  'guarantees.one-end-a-task': async (kit) => {
    const { ids, events, tasks } = await kit.see(raced);
    for (const [index, request_id] of ids.entries()) {
      const own = events.filter((event) => event.request_id === request_id);
      requireEqual(own.length, 1, 'The number of `task_done` events of a task');
      const fields = ({ status, result, error_info }: Fields) => [status, result, error_info];
      requireEqual(fields(own[0] ?? {}), fields(tasks[index] ?? {}), 'The event, beside the task');
    }
  },
  'guarantees.order-the-events-of': async (kit) => {
    const { ids, streams } = await kit.see(cancelledInOrder);
    for (const stream of streams) {
      const seen = dataOf(stream).map(({ request_id }) => request_id);
      requireEqual(seen, ids, 'The order of the events');
    }
  },
  'guarantees.when-an-event-a': async (kit) => {
    const session = { cli_session_id: kit.name('session') };
    const stream = await kit.openStream(session.cli_session_id);
    const submit = async () =>
      requireObject(await kit.submit([kit.name('nowhere')], { queue_timeout: 60, ...session })).request_id;
    const requireEnded = async (request_id: unknown, what: string): Promise<void> =>
      requireEqual((await kit.get(request_id)).status, 'failed', `\`status\` when ${what} has shown the end`);
    const [shown, waited, answered] = [await submit(), await submit(), await submit()];
    const query = { auth: kit.auth, wait: '30' };
    const wait = async (): Promise<void> => {
      requireObject(await kit.subject.call('GET', `${SUBMIT}/${waited}`, { query }));
      await requireEnded(waited, 'a `wait`');
    };
    const cancel = async (): Promise<void> => {
      for (const request_id of [shown, waited]) requireObject(await kit.cancel(request_id));
    };
    await Promise.all([wait(), cancel()]);
    await eventOf(kit, stream, shown);
    await requireEnded(shown, 'an event');
    requireObject(await kit.cancel(answered));
    await requireEnded(answered, 'a response');
  },
  'guarantees.delivery-to-agents-is': async (kit) => {
    const agent = await kit.startAgent({}, (_push, count) => (count === 1 ? 500 : 202));
    const request_id = await giveTask(kit, agent);
    const pushes = [await awaitPush(kit, agent), await awaitPush(kit, agent, 2)];
    const task = await kit.get(request_id);
    requireObject(await kit.cancel(request_id));
    for (const { headers, bytes } of pushes) {
      requireEqual(headers['webhook-id'], request_id, '`webhook-id`, beside the `request_id`');
      requireThat(isJsonObject(bytes), 'The body of a push must be JSON.');
      requireEqual(JSON.parse(new TextDecoder().decode(bytes)), task, 'The body of a push, beside the task,');
      for (const [name, pattern] of PUSH_HEADERS)
        requireThat(pattern.test(headers[name] ?? ''), `A push has ${name} "${headers[name]}".`);
    }
  },
};
