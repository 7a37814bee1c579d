/** The checks of the guide's section "The life of an agent" (L1). */
import {
  awaitAgent,
  awaitPush,
  awaitState,
  awaitTaken,
  drain,
  giveTask,
  requireNoAgent,
  submitTask,
} from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { requireObject, requireProblem, requireStatus } from './subject.ts';

async function beat(kit: Kit, agent: Agent, more: object = {}) {
  return requireObject(await kit.callAs(agent, 'heartbeat', { ...more }));
}

async function requireState(kit: Kit, agent: Agent, state: string, when: string): Promise<void> {
  requireEqual((await kit.look(agent))?.state, state, `The state of an agent ${when}`);
}

/** How close two contacts may be and still count as one. */
const CONTACT_SECONDS = 0.4;

/** Requires that something that an agent does, or that happens to it, moves the time of its last contact. */
export async function requireContact(
  kit: Kit,
  agent: Agent,
  what: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = Number((await kit.look(agent))?.last_contact_time);
  await kit.pause(CONTACT_SECONDS);
  await act();
  await kit.until(`${what} is contact`, async () =>
    Number((await kit.look(agent))?.last_contact_time) > before ? true : undefined,
  );
}

/** Gives an agent a task, then sends it another one, to which it responds 410. */
async function left(kit: Kit) {
  const agent = await kit.startAgent({}, (_push, count) => (count === 1 ? 202 : 410));
  const taken = await giveTask(kit, agent);
  await awaitPush(kit, agent);
  const refused = await submitTask(kit, [agent.tag]);
  await awaitPush(kit, agent, 2);
  await awaitState(kit, agent, 'offline');
  return { agent, taken, refused };
}

export const AGENT_STATE_CHECKS: Readonly<Record<string, Check>> = {
  'fields.ready-it-runs-no': async (kit) => {
    const agent = await kit.startAgent({ max_concurrent: 1 });
    requireEqual(requireObject(agent.registered).state, 'ready', '`state` in the response to a registration');
    await requireState(kit, agent, 'ready', 'that is registered');
    await beat(kit, agent, { current_load: 1 });
    await requireState(kit, agent, 'ready', 'that is full of other work');
    await requireNoAgent(kit, [agent.tag], 'for an agent that is full of other work');
    await beat(kit, agent, { current_load: 0 });
    await giveTask(kit, agent);
  },
  'fields.processing-it-runs-at': async (kit) => {
    const agent = await kit.startAgent({ max_concurrent: 2 });
    const request_id = await giveTask(kit, agent);
    requireEqual((await beat(kit, agent)).state, 'processing', '`state` in the response to a heartbeat');
    await giveTask(kit, agent);
    await requireState(kit, agent, 'processing', 'that runs two tasks');
    await requireNoAgent(kit, [agent.tag], 'for an agent that runs as many as it may');
    requireObject(await kit.report(agent, request_id, {}));
    await giveTask(kit, agent);
  },
  'fields.draining-it-asked-for': async (kit) => {
    const agent = await kit.startAgent();
    requireEqual((await beat(kit, agent, { draining: true })).state, 'draining', '`state`');
    await requireNoAgent(kit, [agent.tag], 'for an agent that drains');
    requireEqual((await beat(kit, agent)).state, 'draining', '`state` after a heartbeat that says nothing');
    requireEqual((await beat(kit, agent, { draining: false })).state, 'ready', '`state` after `false`');
    await giveTask(kit, agent);
    await beat(kit, agent, { draining: true });
    requireObject(await kit.callAs(agent, 'register', agent.registration));
    await requireState(kit, agent, 'processing', 'that drained and registered again');
    await giveTask(kit, agent);
    if (kit.adminAuth === undefined) return;
    await drain(kit, agent);
    requireEqual((await beat(kit, agent, { draining: false })).state, 'draining', '`state` when drained');
    await requireNoAgent(kit, [agent.tag], 'for an agent that the administrator drained');
    await drain(kit, agent, false);
    requireEqual((await beat(kit, agent)).state, 'processing', '`state` when no longer drained');
  },
  'fields.offline-it-had-no': async (kit) => {
    const { agent, taken, refused } = await kit.see(left);
    await requireNoAgent(kit, [agent.tag], 'for an agent that responded 410');
    for (const request_id of [taken, refused]) {
      const { status, agent_id } = await kit.get(request_id);
      requireEqual([status, agent_id], ['running', agent.agent_id], 'A task of an agent that is offline');
    }
  },
  'agent-life.contact-is-any-call': async (kit) => {
    const pushed = await kit.startAgent();
    const busy = await kit.startAgent({}, (_push, count) => (count === 1 ? 429 : 503));
    const failing = await kit.startAgent({}, 404);
    const pull = await kit.startAgent({ endpoint: 'pull' });
    const calls = async (): Promise<void> => {
      let request_id: unknown;
      await requireContact(kit, pushed, 'a heartbeat', () => beat(kit, pushed));
      await requireContact(kit, pushed, 'a push that it takes', async () => {
        request_id = await giveTask(kit, pushed);
      });
      await requireContact(kit, pushed, 'a report', async () =>
        requireObject(await kit.report(pushed, request_id, { status: 'running' })),
      );
      await requireContact(kit, pushed, 'a registration', async () =>
        requireObject(await kit.callAs(pushed, 'register', pushed.registration)),
      );
    };
    const busyPushes = async (): Promise<void> => {
      await requireContact(kit, busy, 'a push that it is too busy for (429)', () => giveTask(kit, busy));
      await requireContact(kit, busy, 'a push that it is too busy for (503)', () => awaitPush(kit, busy, 2));
    };
    const claims = (): Promise<void> => requireContact(kit, pull, 'a claim', () => kit.callAs(pull, 'claim'));
    await Promise.all([calls(), busyPushes(), claims()]);
    const before = await kit.look(failing);
    await giveTask(kit, failing);
    await kit.until('the push has failed', async () =>
      (await kit.look(failing))?.push_failing === true ? true : undefined,
    );
    const after = await kit.look(failing);
    requireEqual(
      after?.last_contact_time,
      before?.last_contact_time,
      'The time of the last contact after a push that it refused',
    );
  },
  'fields.the-interval-between-heartbeats': async (kit) => {
    const short = await kit.startAgent({ lost_after: 2.9 });
    requireProblem(short.registered, 422, 'validation_failed', 'with a `lost_after` of 2.9');
    const agent = await kit.startAgent({ lost_after: 3 });
    const startMs = kit.nowMs();
    const interval = Number(requireObject(agent.registered).heartbeat_interval);
    requireThat(
      interval <= 1,
      `With a \`lost_after\` of 3 \`heartbeat_interval\` is ${interval}; must be ≤ 1.`,
    );
    await awaitState(kit, agent, 'offline');
    const silentMs = kit.nowMs() - startMs;
    requireThat(silentMs > 2_700, `It was offline after ${silentMs} ms already.`);
  },
  'agent-life.the-next-call-brings': async (kit) => {
    const silent = await kit.startAgent({ endpoint: 'pull', lost_after: 3 });
    await awaitState(kit, silent, 'offline');
    await kit.callAs(silent, 'claim');
    await requireState(kit, silent, 'ready', 'that claims after its silence');
    const { agent, taken } = await left(kit);
    requireObject(await kit.report(agent, taken, {}));
    await requireState(kit, agent, 'offline', 'that reports after its 410');
    requireEqual((await beat(kit, agent)).state, 'processing', '`state` after a 410 and a heartbeat');
    const other = (await left(kit)).agent;
    const again = requireObject(await kit.callAs(other, 'register', other.registration));
    requireEqual(again.state, 'processing', '`state` after a 410 and a registration');
  },
  'unregisterAgent.the-gateway-forgets-the': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const startMs = kit.nowMs();
    const claim = kit.callAs(agent, 'claim', { wait: 2 });
    // After this time the claim has arrived.
    await kit.pause(0.7);
    requireObject(await kit.callAs(agent, 'unregister'));
    const late = await kit.callAs(agent, 'heartbeat');
    requireProblem(late, 404, 'agent_not_found', 'of an agent that has unregistered');
    requireStatus(await claim, 204, 'that waits while its agent unregisters');
    const waitedMs = kit.nowMs() - startMs;
    requireThat(waitedMs > 1_900, `The claim returned after ${waitedMs} ms; its wait was 2000.`);
  },
  'unregisterAgent.if-the-same-agent': async (kit) => {
    const agent = await kit.startAgent();
    const [kept, ended] = [await giveTask(kit, agent), await giveTask(kit, agent)];
    for (const request_id of [kept, ended]) await awaitTaken(kit, request_id);
    requireObject(await kit.callAs(agent, 'unregister'));
    requireObject(await kit.cancel(ended));
    const again = requireObject(await kit.callAs(agent, 'register', agent.registration));
    requireEqual(
      [again.state, again.cancelled_request_ids],
      ['processing', [ended]],
      '`state` and `cancelled_request_ids` of an agent that is back',
    );
    requireEqual(requireObject(await kit.report(agent, kept, {})).accepted, true, '`accepted` of its report');
    if (kit.adminAuth !== undefined) {
      await drain(kit, agent);
      requireObject(await kit.callAs(agent, 'unregister'));
      const back = requireObject(await kit.callAs(agent, 'register', agent.registration));
      requireEqual(back.state, 'draining', '`state` of an agent that is back and was drained');
    }

    const tag = kit.name('tag');
    const both = [
      await kit.startAgent({ endpoint: 'pull', agent_tags: [tag] }),
      await kit.startAgent({ endpoint: 'pull', agent_tags: [tag] }),
    ];
    const request_id = await submitTask(kit, [tag]);
    const { agent_id } = await kit.until('an agent has it', async () => {
      const task = await kit.get(request_id);
      return task.agent_id === null ? undefined : task;
    });
    const [first, second] = both.toSorted((one) => (one.agent_id === agent_id ? -1 : 1)) as [Agent, Agent];
    requireObject(await kit.report(first, request_id, {}));
    requireObject(await kit.callAs(first, 'unregister'));
    requireObject(await kit.callAs(first, 'register', first.registration));
    await awaitState(kit, { ...first, tag }, 'ready');
    await awaitAgent(kit, await submitTask(kit, [tag]), second);
  },
};
