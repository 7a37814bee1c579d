/** The steps of scenarios: each sends one call and records the response, or waits for something. */
import { type Fields, type Peer, type Script, SECRETS, until } from './peer.ts';

export type Scenario = (peer: Peer, tag: string) => Promise<void>;

export const auth = SECRETS.gateway;
export const admin = { headers: { 'x-admin-auth': SECRETS.admin } };

export const submit = (peer: Peer, tag: string, more: Fields = {}, headers = {}) =>
  peer.send(`submit ${JSON.stringify(more)}`, 'POST', '/api/cli/tasks', {
    json: { auth, task_type: tag, task_tags: [tag], payload: { text: '你好', n: [1.0, 1e3, null] }, ...more },
    headers,
  });
export const register = (peer: Peer, agent_id: string, more: Fields) =>
  peer.send('register', 'POST', '/api/agent/register', { json: { auth, agent_id, ...more } });
export const beat = (peer: Peer, agent_id: string, more: Fields = {}) =>
  peer.send(`heartbeat ${JSON.stringify(peer.normalize(more))}`, 'POST', '/api/agent/heartbeat', {
    json: { agent_id, ...more },
  });
export const report = (peer: Peer, agent_id: string, request_id: unknown, more: Fields) =>
  peer.send(`report ${JSON.stringify(more)}`, 'POST', '/api/agent/result', {
    json: { agent_id, request_id, ...more },
  });
export const claim = (peer: Peer, agent_id: string, more: Fields = {}) =>
  peer.send('claim', 'POST', '/api/agent/claim', { json: { auth, agent_id, ...more } });
export const unregister = (peer: Peer, agent_id: string, more: Fields = {}) =>
  peer.send('unregister', 'POST', '/api/agent/unregister', { json: { agent_id, ...more } });
export const get = (peer: Peer, id: unknown, wait = 0) =>
  peer.send('get', 'GET', `/api/cli/tasks/${id}?auth=${auth}&wait=${wait}`);
export const cancel = (peer: Peer, id: unknown) =>
  peer.send('cancel', 'POST', `/api/cli/tasks/${id}/cancel?auth=${auth}`);
export const read = async (peer: Peer, id: unknown): Promise<Fields> =>
  (await peer.call('GET', `/api/cli/tasks/${id}?auth=${auth}`)).body;
export const running = (peer: Peer, id: unknown, agent_id: string) =>
  until(`${agent_id} has the task`, async () => {
    const task = await read(peer, id);
    return task.status === 'running' && task.agent_id === agent_id ? task : undefined;
  });
/** The agents of a scenario as the administrator sees them, without what may differ at that moment. */
export async function list(peer: Peer, tag: string, without: readonly string[] = []): Promise<void> {
  const { body } = await peer.call('GET', '/api/admin/agents', admin);
  const agents = (body.agents as readonly Fields[])
    .filter((one) => String(one.agent_id).startsWith(tag))
    .toSorted((a, b) => (String(a.agent_id) < String(b.agent_id) ? -1 : 1))
    .map((one) => Object.fromEntries(Object.entries(one).filter(([name]) => !without.includes(name))));
  peer.record('agents', peer.normalize(agents));
  const paged: unknown[] = [];
  let cursor = '';
  do {
    const page = await peer.call('GET', `/api/admin/agents?id=${tag}-&limit=1${cursor}`, admin);
    paged.push(...(page.body.agents as readonly Fields[]).map(({ agent_id }) => agent_id));
    cursor = page.body.next_cursor === null ? '' : `&cursor=${page.body.next_cursor}`;
  } while (cursor !== '');
  peer.record('agents, page by page', paged);
}
export async function startPushed(peer: Peer, tag: string, script?: Script, more: Fields = {}) {
  const agent = await peer.startAgent(script);
  await register(peer, `${tag}-a`, {
    endpoint: agent.endpoint,
    agent_tags: [tag],
    max_concurrent: 3,
    ...more,
  });
  const { body } = await submit(peer, tag, { timeout: 300 });
  return { ...agent, id: body.request_id };
}
/** Reads a session's stream until it has as many events. */
export async function readEvents(
  peer: Peer,
  session: string,
  count: number,
  after = '',
  query = '',
): Promise<readonly string[]> {
  const closing = new AbortController();
  const headers = after === '' ? {} : { 'last-event-id': after };
  const response = await fetch(
    `${peer.baseUrl}/api/cli/events?auth=${auth}&cli_session_id=${session}${query}`,
    { headers, signal: closing.signal },
  );
  const reader = response.body?.getReader();
  let text = '';
  while (text.split('\ndata: ').length <= count)
    text += new TextDecoder().decode((await reader?.read())?.value);
  closing.abort();
  const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);
  const form = text
    .replaceAll(/^id: .*$/gm, 'id')
    .replaceAll(/^data: (.*)$/gm, (_, data) => JSON.stringify(peer.normalize(JSON.parse(data))));
  peer.record('stream', [
    response.status,
    response.headers.get('content-type'),
    form.replaceAll(/^:.*\n/gm, ':\n'),
  ]);
  return ids;
}
export const write = (
  peer: Peer,
  agent_id: string,
  request_id: unknown,
  from: number,
  pieces: unknown,
  more = {},
) =>
  peer.send(`write ${from} ${JSON.stringify(more)}`, 'POST', '/api/agent/output', {
    json: { auth, agent_id, request_id, writer: 'w', from, pieces, ...more },
  });
/** A page of the task's output. */
export const page = (peer: Peer, id: unknown, query: string) =>
  peer.send(`page ${query}`, 'GET', `/api/cli/tasks/${id}/output?auth=${auth}${query}`);

/** Reads a stream of a task that has ended to its end. */
export async function follow(peer: Peer, id: unknown, lastId: string, query = ''): Promise<void> {
  const headers = { accept: 'text/event-stream', 'last-event-id': lastId };
  const url = `${peer.baseUrl}/api/cli/tasks/${id}/output?auth=${auth}${query}`;
  const response = await fetch(url, { headers });
  const type = response.headers.get('content-type');
  peer.record(`follow ${lastId} ${query}`, [response.status, type, await response.text()]);
}

/** Submits a task that the agent `TAG-a` claims; its id. */
export async function startClaimed(peer: Peer, tag: string): Promise<unknown> {
  await register(peer, `${tag}-a`, { endpoint: 'pull', agent_tags: [tag], max_concurrent: 2 });
  const { body } = await submit(peer, tag);
  await claim(peer, `${tag}-a`, { wait: 5 });
  return body.request_id;
}
