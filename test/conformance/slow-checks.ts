/** The checks of the guide that wait for longer than ten seconds (L1), from several of its sections. */
import { awaitAgent, awaitPush, awaitState, giveTask } from './awaited-tasks.ts';
import type { Check, SlowCheck } from './check.ts';
import { requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { requireObject, requireStatus } from './subject.ts';

/** How many seconds later than promised the kit may see something. */
const SLACK_SECONDS = 6;
/** How many seconds earlier: the time between an event and the kit's first sight of it. */
const EARLY_SECONDS = 3;

const slow = (seconds: number, check: Check): SlowCheck => ({ seconds, check });

/** Requires that an agent is offline so long after a moment, and not earlier. */
async function requireOffline(kit: Kit, agent: Agent, fromMs: number, seconds: number): Promise<void> {
  await kit.pause((fromMs - kit.nowMs()) / 1_000 + seconds - EARLY_SECONDS);
  const early = (await kit.look(agent))?.state;
  requireThat(early !== 'offline', `It was offline ${EARLY_SECONDS} s before ${seconds} s were over.`);
  await awaitState(kit, agent, 'offline');
  requireSeconds((kit.nowMs() - fromMs) / 1_000, seconds, 'until it was offline');
}

function requireSeconds(seen: number, seconds: number, what: string): void {
  requireThat(
    seen >= seconds - EARLY_SECONDS && seen <= seconds + SLACK_SECONDS,
    `It took ${seen.toFixed(1)} s ${what}; must be ${seconds}.`,
  );
}

/** Requires that a task stays so long with its agent, which has left, and then moves to another one. */
async function requireMove(kit: Kit, request_id: unknown, from: Agent, to: Agent, seconds: number) {
  const startMs = kit.nowMs();
  await kit.pause(seconds - EARLY_SECONDS);
  const { agent_id } = await kit.get(request_id);
  requireEqual(agent_id, from.agent_id, `\`agent_id\` ${EARLY_SECONDS} s before it may move`);
  await awaitAgent(kit, request_id, to);
  requireSeconds((kit.nowMs() - startMs) / 1_000, seconds, 'until the task moved');
}

/** Has an agent take a task for good, in one of three ways, and then leave. */
async function takesAndLeaves(
  kit: Kit,
  take: (agent: Agent, request_id: unknown) => Promise<unknown>,
  status = 404,
) {
  const agent = await kit.startAgent({}, status);
  const request_id = await giveTask(kit, agent);
  await awaitPush(kit, agent);
  await take(agent, request_id);
  const other = await kit.startAgent({ agent_tags: [agent.tag] });
  requireObject(await kit.callAs(agent, 'unregister'));
  return { agent, request_id, other };
}

/** Requires that a claimed task is handed out again after 15 seconds, unless the agent names it. */
async function requireHandedOutAgain(kit: Kit): Promise<void> {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const claim = (wait: number) => kit.callAs(agent, 'claim', { wait });
  const [kept, lost] = [await giveTask(kit, agent), await giveTask(kit, agent)];
  const claimed = [];
  for (const _task of [kept, lost]) claimed.push(requireObject(await claim(0)).request_id);
  requireEqual(claimed, [kept, lost], 'The claimed tasks');
  const startMs = kit.nowMs();
  requireObject(await kit.callAs(agent, 'heartbeat', { request_ids: [kept] }));
  requireStatus(await claim(0), 204, 'within 15 seconds');
  await kit.pause(15 - EARLY_SECONDS);
  requireStatus(await claim(0), 204, 'within 15 seconds');
  const again = await kit.until('a task is handed out again', async () => {
    const answer = await claim(0);
    return answer.status === 200 ? requireObject(answer) : undefined;
  });
  requireEqual(again.request_id, lost, 'The task that is handed out again');
  requireSeconds((kit.nowMs() - startMs) / 1_000, 15, 'until it was handed out again');
  requireStatus(await claim(0), 204, 'when the other task was named');
}

export const SLOW_CHECKS: Readonly<Record<string, SlowCheck>> = {
  'agent-life.an-agent-that-sends': slow(100, async (kit) => {
    const beating = await kit.startAgent();
    const pull = await kit.startAgent({ endpoint: 'pull' });
    const silent = await kit.startAgent();
    requireObject(await kit.callAs(beating, 'heartbeat'));
    const startMs = kit.nowMs();
    await Promise.all([beating, pull].map((agent) => requireOffline(kit, agent, startMs, 90)));
    requireEqual((await kit.look(silent))?.state, 'ready', 'The state of an agent that sends no heartbeats');
  }),
  'agent-life.if-its-last-two': slow(190, async (kit) => {
    const agent = await kit.startAgent();
    requireObject(await kit.callAs(agent, 'heartbeat'));
    const firstMs = kit.nowMs();
    await kit.pause(46);
    requireObject(await kit.callAs(agent, 'heartbeat'));
    const secondMs = kit.nowMs();
    await requireOffline(kit, agent, secondMs, (3 * (secondMs - firstMs)) / 1_000);
  }),
  'agent-life.a-push-agent-that': slow(100, async (kit) => {
    const agent = await kit.startAgent({}, 404);
    await giveTask(kit, agent);
    const { atMs } = await awaitPush(kit, agent);
    await requireOffline(kit, agent, atMs, 90);
  }),
  'delivery.the-pauses-before-the': slow(100, async (kit) => {
    const agent = await kit.startAgent({}, 404);
    await giveTask(kit, agent);
    let { atMs } = await awaitPush(kit, agent);
    for (const [index, seconds] of [1, 2, 4, 8, 16, 30].entries()) {
      await kit.pause(seconds);
      const next = await awaitPush(kit, agent, index + 2);
      const pause = (next.atMs - atMs) / 1_000;
      requireThat(
        pause >= 0.75 * seconds - 0.2 && pause <= 1.25 * seconds + 1.5,
        `Pause ${index + 1} was ${pause.toFixed(1)} s; must be ${seconds}, up to 25 % shorter or longer.`,
      );
      atMs = next.atMs;
    }
  }),
  'claimTask.delivery-is-at-least': slow(20, requireHandedOutAgain),
  'moving.taken-it-named-it': slow(100, async (kit) => {
    const kept = await Promise.all([
      takesAndLeaves(kit, () => Promise.resolve(), 202),
      takesAndLeaves(kit, (agent, id) => kit.callAs(agent, 'heartbeat', { request_ids: [id] })),
      takesAndLeaves(kit, (agent, id) => kit.report(agent, id, { status: 'running' })),
    ]);
    await kit.pause(90 + SLACK_SECONDS);
    for (const { agent, request_id } of kept) {
      const { status, agent_id } = await kit.get(request_id);
      requireEqual([status, agent_id], ['running', agent.agent_id], 'The task of an agent that has left');
    }
  }),
  'moving.may-have-taken-it': slow(100, async (kit) => {
    const pushed = await kit.startAgent({}, (_push, count) => (count === 1 ? 500 : 404));
    const claiming = await kit.startAgent({ endpoint: 'pull' });
    await Promise.all(
      [pushed, claiming].map(async (agent) => {
        const request_id = await giveTask(kit, agent);
        if (agent === pushed) await awaitPush(kit, agent, 2);
        else requireObject(await kit.callAs(agent, 'claim', { wait: 2 }));
        const other = await kit.startAgent({ agent_tags: [agent.tag] });
        requireObject(await kit.callAs(agent, 'unregister'));
        await requireMove(kit, request_id, agent, other, 90);
      }),
    );
  }),
  'moving.not-taken-it-otherwise': slow(20, async (kit) => {
    const agent = await kit.startAgent({}, 404);
    const request_id = await giveTask(kit, agent);
    await awaitPush(kit, agent);
    const other = await kit.startAgent({ agent_tags: [agent.tag] });
    await requireMove(kit, request_id, agent, other, 10);
    requireThat(kit.pushesTo(agent).length >= 3, 'It moved before the third attempt.');
  }),
  'moving.not-claimed-it-pull': slow(20, async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const request_id = await giveTask(kit, agent);
    const other = await kit.startAgent({ agent_tags: [agent.tag] });
    await requireMove(kit, request_id, agent, other, 10);
  }),
};
