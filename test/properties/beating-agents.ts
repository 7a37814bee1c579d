/** Pull agents that send heartbeats and keep the tasks they claim, for tests of what time does to both. */
import { post } from '../e2e/plain-calls.ts';
import { SECRET } from '../harness/gateway-process.ts';

const BEAT_EVERY_MS = 500;

/**
 * Registers an agent that sends heartbeats until the returned function is called. `more` is added to the
 * registration.
 */
export async function startBeating(
  url: string,
  agent_id: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<() => void> {
  const body = { auth: SECRET, agent_id, endpoint: 'pull', agent_tags: ['e2e'], max_concurrent: 20, ...more };
  const { status } = await post(url, '/api/agent/register', body);
  if (status !== 200) throw new Error(`register responded with ${status}`);
  const beat = () => post(url, '/api/agent/heartbeat', { auth: SECRET, agent_id }).catch(() => undefined);
  await beat();
  await beat();
  const timer = setInterval(beat, BEAT_EVERY_MS);
  return () => clearInterval(timer);
}

/** Claims until nothing is left to claim. Returns the ids of the claimed tasks. */
export async function claimAll(url: string, agent_id: string): Promise<readonly string[]> {
  const claimed: string[] = [];
  for (;;) {
    const { status, body } = await post(url, '/api/agent/claim', { auth: SECRET, agent_id, wait: 0 });
    if (status !== 200) return claimed;
    claimed.push(String(body.request_id));
  }
}
