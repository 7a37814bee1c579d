/** The checks of the guide's section "Delivery" (L1). */
import {
  awaitAgent,
  awaitEnd,
  awaitPush,
  awaitState,
  awaitTaken,
  giveTask,
  readHistory,
  submitTask,
} from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import type { Push, PushReply, Respond } from './pushed-agents.ts';
import { requireObject } from './subject.ts';

/** How much later than promised the kit may see a push. */
const SLACK_MS = 1_000;

/** Returns the milliseconds between two pushes to an agent; pushes count from 1. */
async function readPause(kit: Kit, agent: Agent, count: number): Promise<number> {
  const { atMs } = await awaitPush(kit, agent, count + 1);
  return atMs - (kit.pushesTo(agent)[count - 1]?.atMs ?? 0);
}

/** Requires that a pause is between the two numbers of milliseconds. */
function requirePause(ms: number, fromMs: number, toMs: number, when: string): void {
  requireThat(
    ms >= fromMs && ms <= toMs + SLACK_MS,
    `The pause ${when} was ${Math.round(ms)} ms; must be from ${fromMs} to ${toMs}.`,
  );
}

/** Has an agent give its first push this response, then take the task. Returns the task's history. */
async function retried(kit: Kit, first: PushReply) {
  const agent = await kit.startAgent({}, (_push, count) => (count === 1 ? first : 202));
  const request_id = await giveTask(kit, agent);
  const pauseMs = await readPause(kit, agent, 1);
  const ids = kit.pushesTo(agent).map(({ headers }) => headers['webhook-id']);
  requireEqual(ids, [request_id, request_id], '`webhook-id` of both pushes');
  await awaitTaken(kit, request_id);
  return { pauseMs, history: await readHistory(kit, request_id) };
}

/** Makes a reply to the first push, by the gateway's time in seconds; the agent takes the next ones. */
const firstReply =
  (reply: (nowSeconds: number) => PushReply): Respond =>
  ({ bytes }: Push, count) =>
    count === 1 ? reply(JSON.parse(bytes.toString('utf8')).create_time) : 202;

export const DELIVERY_CHECKS: Readonly<Record<string, Check>> = {
  'delivery.2xx-409-taken-nowhere': async (kit) => {
    const statuses = [200, 204, 299, 409];
    const given = await Promise.all(
      statuses.map(async (status) => {
        const agent = await kit.startAgent({}, status);
        const request_id = await giveTask(kit, agent);
        await awaitTaken(kit, request_id);
        return { agent, request_id };
      }),
    );
    await kit.pause(2.5);
    for (const { agent, request_id } of given) {
      requireEqual(kit.pushesTo(agent).length, 1, 'The number of pushes of a task that was taken');
      requireEqual(requireObject(await kit.report(agent, request_id, {})).accepted, true, '`accepted`');
    }
  },
  'delivery.429-503-not-taken': async (kit) => {
    const tag = kit.name('tag');
    const agents = [
      await kit.startAgent({ agent_tags: [tag] }, 503),
      await kit.startAgent({ agent_tags: [tag] }, 429),
    ];
    const request_id = await submitTask(kit, [tag]);
    const second = await kit.until('the second agent is pushed to', () =>
      agents.every((agent) => kit.pushesTo(agent).length > 0)
        ? agents.toSorted((a, b) => (kit.pushesTo(a)[0]?.atMs ?? 0) - (kit.pushesTo(b)[0]?.atMs ?? 0))[1]
        : undefined,
    );
    const first = agents.find((agent) => agent !== second) as Agent;
    requireEqual(kit.pushesTo(first).length, 1, 'The pushes to the first agent until then');
    await awaitPush(kit, second, 2);
    requireEqual(kit.pushesTo(first).length, 1, 'The pushes to the agent that has refused the task');
    requireEqual((await kit.get(request_id)).agent_id, second.agent_id, '`agent_id`');
  },
  'delivery.410-not-taken-gone': async (kit) => {
    const agent = await kit.startAgent({}, (_push, count) => (count === 1 ? 410 : 202));
    const request_id = await giveTask(kit, agent);
    await awaitState(kit, agent, 'offline');
    await kit.pause(2.5);
    requireEqual(kit.pushesTo(agent).length, 1, 'The pushes to an agent that responded 410');
    requireObject(await kit.callAs(agent, 'heartbeat'));
    await awaitTaken(kit, request_id);
  },
  'delivery.3xx-other-4xx-but': async (kit) => {
    const replies = [302, 400, 404].map((status) => ({ status }));
    for (const { history, pauseMs } of await Promise.all(replies.map((reply) => retried(kit, reply)))) {
      requireEqual(history.get('push_not_taken'), 1, 'How often it was not taken');
      requirePause(pauseMs, 700, 1_250, 'before the same agent was asked again');
    }
    const deaf = await kit.startAgent({ endpoint: `${kit.closedUrl()}/` });
    const request_id = await giveTask(kit, deaf);
    await kit.until('a second push without a connection', async () =>
      Number((await readHistory(kit, request_id)).get('push_not_taken')) > 1 ? true : undefined,
    );
  },
  'delivery.408-other-5xx-cut': async (kit) => {
    const replies = [{ status: 408 }, { status: 500 }, { status: 504 }, 'cut'] as const;
    for (const { history, pauseMs } of await Promise.all(replies.map((reply) => retried(kit, reply)))) {
      requireEqual(history.get('push_unknown'), 1, 'How often it was unknown');
      requirePause(pauseMs, 700, 1_250, 'before the same agent was asked again');
    }
  },
  'delivery.retry-after-seconds-or': async (kit) => {
    const inSeconds = { status: 503, headers: { 'retry-after': '2' } };
    const unknown = { status: 500, headers: { 'retry-after': '2' } };
    const atTime = (nowSeconds: number): PushReply => {
      const date = new Date(Math.ceil(nowSeconds + 2) * 1_000);
      return { status: 404, headers: { 'retry-after': date.toUTCString() } };
    };
    const pauses = [() => inSeconds, () => unknown, atTime].map(async (reply) => {
      const agent = await kit.startAgent({}, firstReply(reply));
      await giveTask(kit, agent);
      return await readPause(kit, agent, 1);
    });
    // A date has whole seconds, and the task is a little older than its push.
    for (const ms of await Promise.all(pauses)) requirePause(ms, 1_700, 3_000, 'that `Retry-After` asks for');
  },
  'delivery.an-agent-that-comes': async (kit) => {
    const agent = await kit.startAgent({}, (_push, count) => (count === 1 ? 410 : 202));
    await giveTask(kit, agent);
    await awaitState(kit, agent, 'offline');
    requireObject(await kit.callAs(agent, 'heartbeat'));
    requirePause(await readPause(kit, agent, 1), 700, 1_250, 'behind a 410');
  },
  'delivery.no-second-push-is': async (kit) => {
    const agent = await kit.startAgent({}, async () => {
      await kit.pause(2);
      return 202;
    });
    const request_id = await giveTask(kit, agent);
    await awaitPush(kit, agent);
    await awaitTaken(kit, request_id);
    requireEqual(kit.pushesTo(agent).length, 1, 'The pushes while the first one is open');
  },
  'delivery.a-2xx-shows-in': async (kit) => {
    const agent = await kit.startAgent();
    const request_id = await giveTask(kit, agent);
    const { atMs } = await awaitPush(kit, agent);
    await awaitTaken(kit, request_id);
    requirePause(kit.nowMs() - atMs, 0, 500, 'until a 2xx shows');
    requireEqual(
      (await readHistory(kit, request_id)).get('push_taken'),
      1,
      'How often `push_taken` is there',
    );
  },
  'delivery.a-failed-push-never': async (kit) => {
    const agent = await kit.startAgent({}, (_push, count) => (count % 2 === 0 ? 404 : 500));
    const request_id = await submitTask(kit, [agent.tag], { timeout: 2.5 });
    await awaitAgent(kit, request_id, agent);
    await awaitPush(kit, agent, 2);
    requireEqual((await kit.get(request_id)).status, 'running', '`status` behind two failed pushes');
    const { error_info, agent_id } = await awaitEnd(kit, request_id);
    requireEqual([error_info, agent_id], ['timeout', agent.agent_id], 'The end of the task');
  },
};
