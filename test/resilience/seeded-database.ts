/**
 * A store file as the real gateway leaves it when it is killed under load: some of its content in the
 * database, the rest in its log.
 */
import { post, submit } from '../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import type { Contents } from './read-all.ts';

const SESSIONS = ['a', 'b'] as const;
const AGENT = { auth: SECRET, agent_id: 'puller' };

/**
 * Fills a file that does not exist yet, by two processes with `each` tasks each; the second is ended by
 * SIGKILL.
 */
export async function seedDatabase(file: string, each: number): Promise<Contents> {
  const contents = {
    tasks: [] as string[],
    keys: [] as string[],
    agents: ['puller', 'idle'],
    sessions: SESSIONS,
  };
  for (const run of [1, 2]) {
    const gateway = await startGateway({ STORE: `sqlite:${file}` });
    await addTasks(gateway, contents, run, each);
    await (run === 1 ? gateway.stop() : gateway.kill());
  }
  return contents;
}

async function addTasks(
  { baseUrl }: GatewayProcess,
  contents: { tasks: string[]; keys: string[] },
  run: number,
  each: number,
): Promise<void> {
  for (const [agent_id, endpoint] of [
    ['puller', 'pull'],
    ['idle', 'http://127.0.0.1:1/tasks'],
  ]) {
    const agent_tags = agent_id === 'idle' ? ['elsewhere'] : ['e2e'];
    await post(baseUrl, '/api/agent/register', {
      auth: SECRET,
      agent_id,
      endpoint,
      agent_tags,
      max_concurrent: 4,
    });
  }
  for (let n = 0; n < each; n += 1) {
    const cli_session_id = SESSIONS[n % SESSIONS.length] ?? '';
    // Every seventh is larger than a page of the file.
    const payload = { text: '你好'.repeat(n % 7 === 0 ? 3_000 : n) };
    const key = n % 5 === 0 ? `key-${run}-${n}` : undefined;
    if (key !== undefined) contents.keys.push(key);
    contents.tasks.push(await submitOne(baseUrl, { cli_session_id, payload }, key));
    if (n % 2 === 0) await workOne(baseUrl, n);
    if (n % 9 === 8) {
      await post(baseUrl, `/api/cli/tasks/${contents.tasks.at(-1)}/cancel?auth=${SECRET}`, undefined);
    }
  }
}

async function submitOne(
  url: string,
  more: Record<string, unknown>,
  key: string | undefined,
): Promise<string> {
  const task = { queue_timeout: 3_600, timeout: 3_600, ...more };
  if (key === undefined) return await submit(url, task);
  const response = await fetch(`${url}/api/cli/tasks`, {
    method: 'POST',
    headers: { 'Idempotency-Key': key },
    body: JSON.stringify({ auth: SECRET, task_type: 'translate', task_tags: ['e2e'], ...task }),
  });
  return String(((await response.json()) as { request_id: string }).request_id);
}

async function workOne(url: string, n: number): Promise<void> {
  const { status, body } = await post(url, '/api/agent/claim', { ...AGENT, wait: 0 });
  if (status !== 200) return;
  const result =
    n % 4 === 0
      ? { status: 'failed', error_info: `坏 ${n}` }
      : { status: 'success', result: { output: `好 ${n}` } };
  await post(url, '/api/agent/result', { ...AGENT, request_id: body.request_id, ...result });
}
