/** The races about an agent that registers again, while what its earlier registration caused goes on. */
import { expect } from 'vitest';
import type { Registration } from '../../server/ports/gateway.ts';
import { BROKEN, GONE, TAKEN } from '../harness/fake-pusher.ts';
import { buildRegistration, buildSubmission, NEVER } from '../harness/world.ts';
import { urlOf } from '../harness/world-calls.ts';
import type { Pair, Replica } from './pair.ts';
import type { Race } from './races.ts';

const PULL = { endpoint: 'pull' };
/** Where the next process of A listens. */
const NEXT = { endpoint: 'http://next.test/tasks', request_ids: [] };

const register = (on: Replica, more: Partial<Registration>) => () =>
  on.gateway.registerAgent(buildRegistration('A', more));

async function startTask(pair: Pair): Promise<string> {
  const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ timeout: 600 }));
  await pair.runUntilIdle();
  return request_id;
}

/** A pull agent that has claimed its task. */
async function startClaimed(pair: Pair): Promise<string> {
  await register(pair.one, PULL)();
  const request_id = await startTask(pair);
  await pair.one.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
  return request_id;
}

const deliveryOf = async ({ store }: Pair, request_id: string) =>
  (await store.get('task', request_id))?.value.delivery;

/** Whether the registration that the result resolved with is the present one. */
async function isPresent(
  result: PromiseSettledResult<unknown> | undefined,
  { store }: Pair,
): Promise<boolean> {
  if (result?.status !== 'fulfilled') throw result?.reason;
  const { registration } = result.value as { registration: string };
  return (await store.getAgentStatus('A'))?.record.registration === registration;
}

/** By name, as the suites title them. */
export const REGISTRATION_RACES: Record<string, Race> = {
  'register without a task × register, claim and write it': {
    prepare: startClaimed,
    work: ({ one, two }, id) => [
      register(one, { ...PULL, request_ids: [] }),
      async () => {
        const response = await register(two, { ...PULL, request_ids: [] })();
        const task = await two.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
        const write = { request_id: id, agent_id: 'A', writer: 'w', pieces: ['{"text":"a"}'] };
        if (task) await two.gateway.writeOutput({ ...write, from: 0 });
        return { ...response, task };
      },
    ],
    async requireResults(results, pair, request_id) {
      const [, second] = results;
      if (!(await isPresent(second, pair))) return;
      // What the present process has claimed and begun to write is its own, whatever the earlier one said.
      const { task } = (second as PromiseFulfilledResult<{ task: unknown }>).value;
      expect((await deliveryOf(pair, request_id))?.acknowledged).toBe(task !== null);
    },
  },
  'register with a task × register without it': {
    prepare: startClaimed,
    work: ({ one, two }, id) => [
      register(one, { ...PULL, request_ids: [id] }),
      register(two, { ...PULL, request_ids: [] }),
    ],
    async requireResults(results, pair, request_id) {
      const isNamed = await isPresent(results[0], pair);
      expect((await deliveryOf(pair, request_id))?.acknowledged).toBe(isNamed);
    },
  },
  'heartbeat with a task × register without it': {
    prepare: startClaimed,
    work: ({ one, two }, id) => [
      () => one.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [id] }),
      register(two, { ...PULL, request_ids: [] }),
    ],
    async requireResults(_results, pair, request_id) {
      // Named by the present process it stays acknowledged; else the present process gets it at once.
      const { acknowledged, pull, nextMs } = (await deliveryOf(pair, request_id)) ?? {};
      expect([acknowledged, pull, nextMs]).toEqual(
        acknowledged ? [true, true, null] : [false, true, pair.store.nowMs()],
      );
    },
  },
  'late 410 of the earlier endpoint × register': {
    async prepare(pair) {
      pair.pusher.script(urlOf('A'), 'hang');
      await register(pair.one, {})();
      return await startTask(pair);
    },
    work: ({ two, pusher }) => [
      async () => pusher.respond(urlOf('A'), GONE),
      register(two, NEXT),
      async () => await two.duties.runDuePass(),
    ],
    async requireResults(_results, pair) {
      expect((await pair.store.getAgentStatus('A'))?.record).toMatchObject({ left: false, offlineMs: null });
    },
  },
  'push again × register without its task': {
    async prepare(pair) {
      pair.pusher.script(urlOf('A'), BROKEN);
      await register(pair.one, {})();
      const request_id = await startTask(pair);
      pair.pusher.script(urlOf('A'), TAKEN);
      await pair.clock.advance(2_000);
      return request_id;
    },
    work: ({ one, two }) => [() => one.duties.runDuePass(), register(two, NEXT)],
    async requireResults(_results, pair, request_id) {
      // In one millisecond the attempt may count as one from before the registration: then it is made again.
      for (let turns = 0; turns < 4; turns += 1) {
        await pair.clock.advance(1_000);
        await pair.runUntilIdle();
      }
      expect(pair.pusher.sent.at(-1)).toMatchObject({ endpoint: NEXT.endpoint, task: { request_id } });
      expect((await deliveryOf(pair, request_id))?.acknowledged).toBe(true);
    },
  },
};
