/**
 * A small agent that is pushed to, for the controls of the agent's role: `FAULT` names the requirement that
 * it breaks. Without one it conforms.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const { TASK_GATEWAY_URL, TASK_GATEWAY_AUTH, TASK_GATEWAY_PUSH_SECRET = '', FAULT } = process.env;
const KEY = Buffer.from(TASK_GATEWAY_PUSH_SECRET.slice('whsec_'.length), 'base64');
const has = (fault: string): boolean => FAULT === `agent.${fault}`;
const agent_id = 'controlled';
const done = new Set<string>();
let url = '';

async function call(name: string, fields: object): Promise<number> {
  const body = JSON.stringify({ auth: has('registers') ? 'wrong' : TASK_GATEWAY_AUTH, agent_id, ...fields });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${TASK_GATEWAY_URL}/api/agent/${name}`, { method: 'POST', headers, body });
  await response.body?.cancel();
  return response.status;
}

const register = () => call('register', { endpoint: url, agent_tags: ['controlled'] });

async function report(request_id: string): Promise<void> {
  const outcome = {
    request_id,
    status: 'success',
    result: { output: has('repeated-push') ? randomUUID() : 'done' },
  };
  const status = await call('result', outcome);
  if (status === 503 && !has('repeated-report')) await report(request_id);
  if (status === 413 && !has('refused-result')) {
    await call('result', { request_id, status: 'failed', error_info: 'The result is too large.' });
  }
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const text of request.setEncoding('utf8')) body += text;
  const [id = '', timestamp = '', given = ''] = ['id', 'timestamp', 'signature'].map((name) =>
    String(request.headers[`webhook-${name}`]),
  );
  const expected = `v1,${createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  const isLate = Math.abs(Number(timestamp) - Date.now() / 1_000) > 300;
  const isRefused = (given !== expected && !has('wrong-signature')) || (isLate && !has('old-timestamp'));
  response.writeHead(isRefused ? 401 : 202).end();
  if (isRefused || (done.has(id) && !has('repeated-push'))) return;
  done.add(id);
  if (!has('reports')) await report(id);
});

server.listen(0, '127.0.0.1', async () => {
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await register();
  if (has('sends-heartbeats')) return;
  setInterval(async () => {
    if ((await call('heartbeat', {})) === 404 && !has('registers-again')) await register();
  }, 500);
});

process.once('SIGTERM', async () => {
  if (!has('unregisters')) await call('unregister', {});
  process.exit();
});
