/** One valid request for each operation, and how any request is sent and its response read. */
import type { operations } from '@task-gateway/contract';
import type { ReceivedResponse } from './document-check.ts';

export type OperationId = keyof operations;

export type Call = WholeCall & {
  /** A body that arrives in parts; it replaces `body`. */
  readonly sendParts?: () => ReadableStream<Uint8Array<ArrayBuffer>>;
};

type WholeCall = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
};

export type Secrets = { readonly gateway: string; readonly admin: string };

/** The usual request of an operation; `body` replaces fields of its body, and undefined leaves one out. */
export function buildCall(
  operationId: OperationId,
  secrets: Secrets,
  body: Readonly<Record<string, unknown>> = {},
  id = 'unknown',
): Call {
  const auth = secrets.gateway;
  const post = (path: string, usual: object): Call => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...usual, ...body }),
  });
  const query = `auth=${encodeURIComponent(auth)}`;
  const admin = { 'x-admin-auth': secrets.admin };
  switch (operationId) {
    case 'submitTask':
      return post('/api/cli/tasks', {
        auth,
        task_type: 't',
        task_tags: ['no-agent-has-it'],
        payload: { text: '你好' },
      });
    case 'getTask':
      return { method: 'GET', path: `/api/cli/tasks/${id}?${query}` };
    case 'explainTask':
      return { method: 'GET', path: `/api/cli/tasks/${id}/explain?${query}` };
    case 'previewMatch':
      return post('/api/cli/match', { auth, task_tags: ['no-agent-has-it'] });
    case 'cancelTask':
      return { method: 'POST', path: `/api/cli/tasks/${id}/cancel?${query}` };
    case 'answerTask':
      return post(`/api/cli/tasks/${id}/answer?${query}`, { key: 'k', answer: true });
    case 'subscribeEvents':
      return { method: 'GET', path: `/api/cli/events?cli_session_id=${id}&${query}` };
    case 'registerAgent':
      return post('/api/agent/register', { auth, agent_id: 'a', endpoint: 'pull', agent_tags: [] });
    case 'heartbeatAgent':
      return post('/api/agent/heartbeat', { agent_id: 'a' });
    case 'claimTask':
      return post('/api/agent/claim', { auth, agent_id: 'a' });
    case 'claimAnswer':
      return post('/api/agent/answer', { auth, agent_id: 'a', request_id: id, key: 'k' });
    case 'reportResult':
      return post('/api/agent/result', {
        request_id: id,
        agent_id: 'a',
        status: 'success',
        result: { output: 'done' },
      });
    case 'writeOutput':
      return post('/api/agent/output', {
        auth,
        agent_id: 'a',
        request_id: id,
        writer: 'w',
        from: 0,
        pieces: [{ text: '一' }],
      });
    case 'readOutput':
      return { method: 'GET', path: `/api/cli/tasks/${id}/output?${query}` };
    case 'unregisterAgent':
      return post('/api/agent/unregister', { agent_id: 'a' });
    case 'listAgents':
      return { method: 'GET', path: '/api/admin/agents', headers: admin };
    case 'listTasks':
      return { method: 'GET', path: '/api/admin/tasks', headers: admin };
    case 'getOverview':
      return { method: 'GET', path: '/api/admin/overview', headers: admin };
    case 'getAgent':
      return { method: 'GET', path: `/api/admin/agents/${id}`, headers: admin };
    case 'drainAgent': {
      const call = post(`/api/admin/agents/${id}/drain`, { draining: true });
      return { ...call, headers: { ...call.headers, ...admin } };
    }
    case 'cancelTasks': {
      const call = post('/api/admin/tasks/cancel', { request_ids: [id], created_before: 9_999_999_999 });
      return { ...call, headers: { ...call.headers, ...admin } };
    }
  }
}

/** Every operation, in the order of the document. */
export const OPERATIONS: readonly OperationId[] = [
  ...(['submitTask', 'getTask', 'cancelTask', 'explainTask', 'previewMatch', 'subscribeEvents'] as const),
  ...(['claimTask', 'heartbeatAgent', 'registerAgent', 'reportResult', 'unregisterAgent'] as const),
  ...(['writeOutput', 'readOutput', 'answerTask', 'claimAnswer'] as const),
  ...(['listAgents', 'listTasks', 'getOverview', 'cancelTasks'] as const),
  ...(['getAgent', 'drainAgent'] as const),
];

/** Sends a request and reads the response; of a stream only until the first event or its end. */
export async function send(url: string, call: Call): Promise<ReceivedResponse> {
  const closing = new AbortController();
  const response = await fetch(url + call.path, {
    method: call.method,
    signal: closing.signal,
    ...(call.headers && { headers: call.headers }),
    ...(call.body !== undefined && { body: call.body }),
    ...(call.sendParts && { body: call.sendParts(), duplex: 'half' }),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? await readUntilEvent(response) : await response.text();
  if (isStream) closing.abort();
  return {
    method: call.method,
    path: call.path,
    status: response.status,
    headers: new Headers(response.headers),
    text,
  };
}

async function readUntilEvent(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader && !/\ndata: .*\n\n/.test(text)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
