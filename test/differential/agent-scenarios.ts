/** What agents do, step by step; each scenario has agents and tags of its own. */
import { until } from './peer.ts';
import {
  auth,
  beat,
  cancel,
  claim,
  get,
  list,
  read,
  register,
  report,
  running,
  type Scenario,
  startPushed,
  submit,
  unregister,
} from './steps.ts';

const pulled: Scenario = async (peer, tag) => {
  await claim(peer, `${tag}-a`);
  await register(peer, `${tag}-a`, { endpoint: 'pull', agent_tags: [tag, 'b'], max_concurrent: 2 });
  await claim(peer, `${tag}-a`);
  await claim(peer, `${tag}-a`, { wait: 0.3 });
  const ids: unknown[] = [];
  for (const n of [1, 2, 3])
    ids.push((await submit(peer, tag, { payload: { n }, queue_timeout: 300 })).body.request_id);
  await running(peer, ids[1], `${tag}-a`);
  for (const _ of ids) await claim(peer, `${tag}-a`, { wait: 0.2 });
  await list(peer, tag);
  await beat(peer, `${tag}-a`, { auth, request_ids: [ids[0], ids[0], ids[2]] });
  await cancel(peer, ids[0]);
  await beat(peer, `${tag}-a`);
  await beat(peer, `${tag}-a`, { auth, request_ids: [ids[1], ids[0], ids[0]] });
  await beat(peer, `${tag}-a`, { auth, request_ids: [] });
  await running(peer, ids[2], `${tag}-a`);
  await claim(peer, `${tag}-a`, { wait: 5 });
  await report(peer, `${tag}-a`, ids[2], { status: 'success' });
  await beat(peer, `${tag}-a`);
  await unregister(peer, `${tag}-a`);
  await get(peer, ids[1]);
  await report(peer, `${tag}-a`, ids[1], { status: 'success', result: { output: 1 } });
  await report(peer, `${tag}-a`, ids[1], { status: 'success', result: { output: 'after' } });
  await claim(peer, `${tag}-a`);
  const { endpoint } = await peer.startAgent();
  await register(peer, `${tag}-p`, { endpoint, agent_tags: [] });
  await claim(peer, `${tag}-p`);
};

const states: Scenario = async (peer, tag) => {
  const a = `${tag}-a`;
  await beat(peer, a);
  await unregister(peer, a);
  const first = await register(peer, a, { endpoint: 'pull', agent_tags: [tag], current_load: 0 });
  await beat(peer, a, { draining: true });
  await beat(peer, a, { auth, draining: true });
  await submit(peer, tag).then(({ body }) => get(peer, body.request_id, 5));
  await beat(peer, a, { auth, current_load: 1 });
  await beat(peer, a, { auth, draining: false });
  await list(peer, tag);
  await submit(peer, tag).then(({ body }) => get(peer, body.request_id, 5));
  await beat(peer, a, { auth, current_load: 0 });
  const second = await register(peer, a, { endpoint: 'pull', agent_tags: [tag], max_concurrent: 0 });
  await submit(peer, tag).then(({ body }) => get(peer, body.request_id, 5));
  await beat(peer, a, { auth, registration: first.body.registration, draining: true });
  await unregister(peer, a, { registration: first.body.registration });
  await beat(peer, a);
  await list(peer, tag);
  await unregister(peer, a, { registration: second.body.registration });
  await beat(peer, a);
  for (const endpoint of [
    '',
    'push',
    'ftp://a',
    'http://u:p@a/',
    '/tasks',
    'http:a',
    ' http://a.test/ ',
    'HTTP://A.test',
    'Pull',
    'https://[::1]:9/x?y#z',
  ]) {
    await register(peer, `${tag}-e`, { endpoint, agent_tags: [] });
  }
};

const chosen: Scenario = async (peer, tag) => {
  const more = { endpoint: 'pull', max_concurrent: 4 };
  await register(peer, `${tag}-a`, { ...more, agent_tags: [tag] });
  await register(peer, `${tag}-b`, { ...more, agent_tags: [tag, `${tag}2`] });
  await register(peer, `${tag}-c`, { ...more, agent_tags: [tag, `${tag}2`], current_load: 1 });
  for (const tags of [
    [tag],
    [tag, `${tag}2`],
    [tag],
    [tag, `${tag}2`],
    [`${tag}2`],
    [tag],
    [tag],
    [tag, tag],
  ]) {
    const { body } = await submit(peer, tag, { task_tags: tags });
    peer.record(
      'chosen',
      await until('an agent', async () => (await read(peer, body.request_id)).agent_id ?? undefined),
    );
  }
  await list(peer, tag);
};

const refused: Scenario = async (peer, tag) => {
  for (const script of [[{ status: 503 }], [{ status: 429, retryAfter: 100 }], [{ status: 410 }]]) {
    const own = `${tag}${script[0]?.status}`;
    const { id } = await startPushed(peer, own, script);
    await register(peer, `${own}-b`, { endpoint: 'pull', agent_tags: [own] });
    await running(peer, id, `${own}-b`);
    await report(peer, `${own}-a`, id, { status: 'running' });
    await beat(peer, `${own}-a`, { auth, request_ids: [id] });
    await claim(peer, `${own}-b`, { wait: 5 });
    await report(peer, `${own}-a`, id, { status: 'success', result: { output: 'former' } });
    await get(peer, id);
    await list(peer, own);
  }
};

const asked: Scenario = async (peer, tag) => {
  for (const status of [200, 204, 409, 302, 401, 404, 408, 500, 502]) {
    const own = `${tag}${status}`;
    const agent = await startPushed(peer, own, [{ status }, { status: 202 }]);
    const isTaken = status < 300 || status === 409;
    await until('its pushes', () => (agent.pushed.length > (isTaken ? 0 : 1) ? agent.pushed : undefined));
    const [first, second] = agent.pushed;
    peer.record(
      `pushed again after ${status}`,
      second && first?.headers['webhook-id'] === second.headers['webhook-id'],
    );
    await report(peer, `${own}-a`, agent.id, { status: 'success' });
    await get(peer, agent.id);
  }
};

const lost: Scenario = async (peer, tag) => {
  await register(peer, `${tag}-a`, { endpoint: 'pull', agent_tags: [tag], lost_after: 3 });
  const { body } = await submit(peer, tag);
  const task = await until('its end', async () => {
    const now = await read(peer, body.request_id);
    return now.status === 'failed' ? now : undefined;
  });
  peer.record('lost', [task.agent_id, /^agent lost: no contact for \d+ s$/.test(String(task.error_info))]);
  await list(peer, tag);
  await beat(peer, `${tag}-a`);
};

const returned: Scenario = async (peer, tag) => {
  const agent = await startPushed(peer, tag);
  await until('a push', () => agent.pushed[0]);
  const more = { endpoint: agent.endpoint, agent_tags: [tag], max_concurrent: 2, current_load: 2 };
  await register(peer, `${tag}-a`, { ...more, request_ids: [agent.id] });
  await list(peer, tag, ['push']);
  await register(peer, `${tag}-a`, more);
  await list(peer, tag, ['push']);
  peer.record('pushes after a registration without request_ids', agent.pushed.length);
  await register(peer, `${tag}-a`, { ...more, request_ids: [] });
  await until('another push', () => agent.pushed[1]);
  peer.record(
    'the same push',
    agent.pushed.map(({ headers }) => headers['webhook-id'] === agent.id),
  );
  await list(peer, tag, ['push']);
  await cancel(peer, agent.id);
  await beat(peer, `${tag}-a`);
  await list(peer, tag, ['push']);
};

/** All of them. */
export const AGENT_SCENARIOS: readonly Scenario[] = [pulled, states, chosen, refused, asked, lost, returned];
