/**
 * A gateway that answers at once with something of the right shape and remembers what it was asked. A test replaces
 * what it is about: one operation that throws, waits or streams.
 */
import type { Gateway, StreamItem } from '../../server/ports/gateway.ts';

/** One call as the gateway got it. */
export type Asked = { readonly operation: string; readonly args: readonly unknown[] };

export type FakeGateway = Gateway & { readonly asked: Asked[] };

export const TASK = {
  request_id: 'task-1',
  task_type: 't',
  task_tags: ['a'],
  payload: { text: '你好' },
  status: 'pending',
  agent_id: null,
  cli_session_id: 's',
  create_time: 1_700_000_000.123,
  timeout: 600,
  progress: 0,
  result: null,
  error_info: null,
} as const;

/** Creates the gateway; what is given replaces its own answers. */
export function createFakeGateway(own: Partial<Gateway> = {}): FakeGateway {
  const asked: Asked[] = [];
  const answers: Gateway = {
    submitTask: async () => TASK,
    getTask: async () => TASK,
    cancelTask: async (request_id) => ({ ok: true, request_id }),
    subscribeEvents: (_session, _after, signal) => idleFeed(signal),
    registerAgent: async ({ agent_id }) => ({
      ok: true,
      agent_id,
      state: 'ready',
      heartbeat_interval: 15,
      offline_after: 90,
      cancelled_request_ids: [],
    }),
    heartbeatAgent: async ({ agent_id }) => ({
      ok: true,
      agent_id,
      state: 'ready',
      cancelled_request_ids: [],
    }),
    claimTask: async () => null,
    reportResult: async ({ request_id }) => ({ ok: true, request_id, status: 'success', accepted: true }),
    unregisterAgent: async (agent_id) => ({ ok: true, agent_id }),
    listAgents: async () => ({ agents: [], total: 0 }),
    listTasks: async () => ({ tasks: [], next_cursor: null }),
    health: () => ({ ok: true }),
    ...own,
  };
  const recorded = Object.fromEntries(
    Object.entries(answers).map(([operation, answer]) => [
      operation,
      (...args: unknown[]) => {
        if (operation !== 'health') asked.push({ operation, args });
        return Reflect.apply(answer, answers, args);
      },
    ]),
  );
  return { ...answers, ...recorded, asked };
}

/** A feed with nothing in it, until the signal fires. */
export async function* idleFeed(signal: AbortSignal): AsyncGenerator<StreamItem> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
