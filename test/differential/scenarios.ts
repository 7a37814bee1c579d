/** What clients do, step by step; each scenario has agents, tags and sessions of its own. */
import { AGENT_SCENARIOS } from './agent-scenarios.ts';
import { OUTPUT_SCENARIOS } from './output-scenarios.ts';
import { until } from './peer.ts';
import { QUESTION_SCENARIOS } from './question-scenarios.ts';
import {
  admin,
  cancel,
  get,
  list,
  readEvents,
  register,
  report,
  running,
  type Scenario,
  startPushed,
  submit,
} from './steps.ts';

const unmatched: Scenario = async (peer, tag) => {
  for (const more of [
    {},
    { task_tags: [] },
    { timeout: 0.5 },
    { cli_session_id: tag, unknown: 1 },
    { queue_timeout: 0 },
  ]) {
    const { body } = await submit(peer, tag, more);
    await get(peer, body.request_id, 5);
    await cancel(peer, body.request_id);
  }
  await readEvents(peer, tag, 1);
  const { body } = await submit(peer, tag, { queue_timeout: 0.6, cli_session_id: tag });
  await get(peer, body.request_id);
  await get(peer, body.request_id, 5);
  const ids = await readEvents(peer, tag, 2);
  await readEvents(peer, tag, 1, ids[0]);
  await readEvents(peer, tag, 1, '', `&last_event_id=${ids[0]}`);
  await readEvents(peer, tag, 2, 'no-such-id');
  await readEvents(peer, tag, 2, '', '&last_event_id=');
  const late = await submit(peer, tag, { queue_timeout: 300, timeout: 0.7 });
  await get(peer, late.body.request_id, 5);
  await get(peer, 'no-such-task');
  await cancel(peer, 'no-such-task');
};

const repeated: Scenario = async (peer, tag) => {
  const key = { 'idempotency-key': tag };
  const { body } = await submit(peer, tag, { payload: { a: 1, b: 2 } }, key);
  await get(peer, body.request_id, 5);
  await submit(peer, tag, { payload: { b: 2, a: 1 } }, key);
  await submit(peer, tag, { payload: { a: 1, b: 2 }, timeout: 600, cli_session_id: '' }, key);
  await submit(peer, tag, { payload: { a: 1, b: 2 }, other: true }, key);
  await submit(peer, tag, { payload: { a: 2, b: 2 } }, key);
  await submit(peer, tag, { payload: { a: 1, b: 2 }, queue_timeout: 0 }, key);
  await submit(peer, tag, {}, { 'idempotency-key': '' });
  await submit(peer, tag, {}, { 'idempotency-key': 'x'.repeat(256) });
};

const pushed: Scenario = async (peer, tag) => {
  const agent = await startPushed(peer, tag);
  const [push] = await until('a push', () => (agent.pushed.length > 0 ? agent.pushed : undefined));
  const { headers, body } = push ?? { headers: {}, body: {} };
  peer.record('push', [
    peer.normalize(body),
    headers['webhook-id'] === agent.id,
    Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000) < 30,
  ]);
  peer.record('push headers', [
    headers['content-type'],
    Number(headers['task-remaining']) <= 300,
    'authorization' in headers,
    'webhook-signature' in headers,
    /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/.test(String(headers.traceparent)),
  ]);
  await list(peer, tag, ['push']);
  await report(peer, `${tag}-a`, agent.id, {
    status: 'running',
    progress: 40,
    result: { reply: 'first', more: 1 },
  });
  await report(peer, `${tag}-a`, agent.id, { status: 'running', progress: 20, result: { reply: 'second' } });
  await get(peer, agent.id);
  await report(peer, `${tag}-b`, agent.id, { status: 'success' });
  await register(peer, `${tag}-b`, { endpoint: 'pull', agent_tags: [] });
  await report(peer, `${tag}-b`, agent.id, { status: 'success' });
  await report(peer, `${tag}-a`, agent.id, {
    status: 'success',
    result: { output: 'done', 大: [1e21, 0.1] },
  });
  await get(peer, agent.id);
  for (const status of ['success', 'failed', 'running'])
    await report(peer, `${tag}-a`, agent.id, { status, progress: 1 });
  await report(peer, `${tag}-b`, agent.id, { status: 'success' });
  await report(peer, `${tag}-a`, 'no-such-task', { status: 'success' });
  await cancel(peer, agent.id);
  await list(peer, tag);
};

const failing: Scenario = async (peer, tag) => {
  for (const more of [
    { error_info: 'broken' },
    { error_info: '' },
    { error_info: null },
    {},
    { progress: 70, result: { a: 1 } },
  ]) {
    const { id } = await startPushed(peer, tag);
    await running(peer, id, `${tag}-a`);
    await report(peer, `${tag}-a`, id, { status: 'failed', ...more });
    await get(peer, id);
  }
  for (const result of [null, undefined, {}, { reply: '' }]) {
    const { id } = await startPushed(peer, tag);
    await running(peer, id, `${tag}-a`);
    await report(peer, `${tag}-a`, id, { status: 'success', progress: 3, error_info: 'x', result });
    await get(peer, id);
  }
};

const listed: Scenario = async (peer, tag) => {
  for (const n of [1, 2, 3]) {
    const { body } = await submit(peer, tag, {
      task_tags: [tag, `t${n}`],
      cli_session_id: `${tag}-${n % 2}`,
    });
    await get(peer, body.request_id, 5);
  }
  for (const query of [
    '',
    '&status=failed',
    '&status=pending',
    `&tag=t2`,
    `&session=${tag}-1`,
    '&agent=x',
    '&limit=200',
  ]) {
    await peer.send(
      `list ${query.replaceAll(tag, '')}`,
      'GET',
      `/api/admin/tasks?type=${tag}${query}`,
      admin,
    );
  }
  const { body } = await peer.send('first page', 'GET', `/api/admin/tasks?type=${tag}&limit=2`, admin);
  await peer.send(
    'next page',
    'GET',
    `/api/admin/tasks?type=${tag}&limit=2&cursor=${body.next_cursor}`,
    admin,
  );
  await peer.send('wrong cursor', 'GET', `/api/admin/tasks?type=${tag}&limit=0&cursor=x`, admin);
};

/** All of them. */
export const SCENARIOS: readonly Scenario[] = [
  unmatched,
  repeated,
  pushed,
  failing,
  listed,
  ...AGENT_SCENARIOS,
  ...OUTPUT_SCENARIOS,
  ...QUESTION_SCENARIOS,
];
