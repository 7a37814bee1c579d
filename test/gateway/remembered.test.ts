/** What a process remembers of tasks and agents beside the store: for how long, and of what. */
import { describe, expect, test } from 'vitest';
import { createTaskState } from '../../server/domain/task.ts';
import { createUntakenTasks } from '../../server/gateway/agents/untaken-tasks.ts';
import { createWaitingOffers } from '../../server/gateway/dispatch/waiting-offers.ts';
import type { TaskStep } from '../../server/ports/observer.ts';
import type { AgentStatus, Store } from '../../server/ports/store.ts';

const INPUT = {
  request_id: 'T',
  task_type: 't',
  task_tags: ['a'],
  payload: {},
  cli_session_id: '',
  create_time: 0,
  timeout: 60,
};
const STATE = createTaskState(INPUT, { createdMs: 0, deadlineMs: 60_000, queueEndMs: null }, 16);

describe('A task that its agent has not taken', () => {
  const delivery = { acknowledged: false };
  const buildStep = (attempts: number): TaskStep =>
    ({
      request_id: 'T',
      after: { ...STATE, agent_id: 'A', delivery: { ...delivery, attempts } },
    }) as TaskStep;

  test('is pushed again when the last push says so, and not when the one before did', async () => {
    const tasks = createUntakenTasks({ findSlots: async (_agent, ids) => new Set(ids) });
    tasks.noteStep(buildStep(1));
    tasks.noteRetry('T', 5_000);
    // It is looked at for another agent meanwhile, and stays.
    tasks.noteStep(buildStep(1));
    expect(await tasks.read('A')).toEqual({ count: 1, nextMs: 5_000 });
    tasks.noteStep(buildStep(2));
    expect(await tasks.read('A')).toEqual({ count: 1, nextMs: null });
  });
});

test('Offers to an agent begin anew once all that waits has been offered to it.', async () => {
  const begins: (string | undefined)[] = [];
  const offers = createWaitingOffers({
    store: {
      async list(_query: string, _ask: object, { after }: { after?: string }) {
        begins.push(after);
        return { items: [], next: after === undefined ? 'the middle' : null };
      },
    } as unknown as Store,
    commits: { reschedule: async () => ({ ok: true }) } as never,
  });
  const agent = {
    record: { agent_id: 'A', agent_tags: ['a'], limit: 1 },
    slots: 0,
  } as unknown as AgentStatus;
  for (const nowMs of [0, 10, 20, 30]) await offers.offer(agent, nowMs);
  expect(begins).toEqual([undefined, 'the middle', undefined, 'the middle']);
});
