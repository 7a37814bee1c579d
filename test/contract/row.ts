/** A row of the contract suite, and the parts that rows are made of. */

import type { RealServer } from './peers.ts';
import type { Call, OperationId } from './usual-calls.ts';

export type Row = {
  readonly operationId: OperationId;
  readonly status: number;
  /** When the operation responds with it. */
  readonly when: string;
  /** In a second row of the same status: why the mock can't distinguish it from the first. */
  readonly serverOnly?: 'needs state' | 'needs a real secret' | 'needs to tell bodies apart';
  /** What the body must hold beyond what the document requires. */
  readonly expect?: Readonly<Record<string, unknown>>;
  /** The server the request is sent to; default: the one that works. */
  readonly server?: 'outOfOrder' | 'faulty' | 'local' | 'misnamed' | 'busy' | 'timeLimited' | 'readOnly';
  /** Brings the real server into the state and builds the request. */
  prepare(server: RealServer): Call | Promise<Call>;
};

export type Prepare = Row['prepare'];
export type More = Omit<Partial<Row>, 'prepare'>;

export function row(
  operationId: OperationId,
  status: number,
  when: string,
  prepare: Prepare,
  more: More = {},
): Row {
  return { operationId, status, when, prepare, ...more };
}

export const usual =
  (operationId: OperationId): Prepare =>
  (server) =>
    server.build(operationId);

/** The request with a wrong secret in every position where it has one. */
export function spoil(call: Call, { gateway, admin }: RealServer['secrets']): Call {
  const text = typeof call.body === 'string' ? call.body : undefined;
  return {
    ...call,
    path: call.path.replace(encodeURIComponent(gateway), 'wrong'),
    ...(call.headers && {
      headers: Object.fromEntries(
        Object.entries(call.headers).map(([name, value]) => [name, value === admin ? 'wrong' : value]),
      ),
    }),
    ...(text !== undefined && { body: text.replace(JSON.stringify(gateway), '"wrong"') }),
  };
}

/** The usual request with the administrator's secret alone. */
export function askAsAdmin(server: RealServer, operationId: OperationId, id = 'unknown'): Call {
  const { path, ...call } = server.build(operationId, { auth: undefined }, id);
  const headers = { ...call.headers, 'x-admin-auth': server.secrets.admin };
  return { ...call, headers, path: path.replace(/\?auth=.*/, '') };
}

export const code = (name: string): More => ({ expect: { code: name } });

/** The request with a body of which only the beginning arrives. */
export function sendSlowly(call: Call): Call {
  const text = new TextEncoder().encode(String(call.body));
  const sendParts = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(text.subarray(0, 10)),
    });
  return { ...call, sendParts };
}

/** The call with a body that is large, by blanks behind its value. */
export const fillBody = (call: Call): Call => ({
  ...call,
  body: `${String(call.body)}${' '.repeat(70_000)}`,
});

/** The request as a web page of another origin sends it. */
export const addOrigin = (call: Call): Call => ({
  ...call,
  headers: { ...call.headers, origin: 'https://rebound.example' },
});

/** A task that waits for an agent, and its id. */
export async function submitWaiting(server: RealServer): Promise<string> {
  const { text } = await server.arrange('submitTask', { queue_timeout: 60 });
  return JSON.parse(text).request_id;
}

/** A registered agent that has claimed a task. */
export async function claimTask(server: RealServer): Promise<{ agent_id: string; request_id: string }> {
  const agent_id = server.fresh('agent');
  const task_tags = [server.fresh('tag')];
  await server.arrange('registerAgent', { agent_id, agent_tags: task_tags });
  await server.arrange('submitTask', { task_tags });
  const { text } = await server.arrange('claimTask', { agent_id, wait: 20 });
  return { agent_id, request_id: JSON.parse(text).request_id };
}

export async function registerAgent(server: RealServer): Promise<string> {
  const agent_id = server.fresh('agent');
  await server.arrange('registerAgent', { agent_id });
  return agent_id;
}
