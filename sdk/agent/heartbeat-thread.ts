/** The thread of `pulse.ts`: beats for an agent whose own thread is held up by a handler, and is silent otherwise. */
import { parentPort, workerData } from 'node:worker_threads';
import type { PulseState, PulseTarget, PulseWord } from './heartbeat.ts';

const { baseUrl, headers }: PulseTarget = workerData;
/** The agent beats every interval, a little scattered; this much later it is held up. */
const PATIENCE = 1.4;
const BEAT_TIMEOUT_MS = 10_000;
/** Between two attempts in vain. */
const PAUSE_MS = 1_000;

let state: PulseState | undefined;
let heardMs = 0;
let timer: NodeJS.Timeout | undefined;

function say(word: PulseWord): void {
  parentPort?.postMessage(word);
}

/** Sets the alarm to the moment from which on the agent is held up. */
function wait(ms?: number): void {
  clearTimeout(timer);
  if (!state) return;
  const dueMs = Math.max(heardMs, state.contactMs) + state.intervalMs * PATIENCE;
  timer = setTimeout(() => void beat(), ms ?? Math.max(0, dueMs - Date.now()));
}

async function beat(): Promise<void> {
  if (!state) return;
  const { registration, request_ids, draining, auth } = state;
  const held = { agent_id: registration.agent_id, auth, ...(request_ids && { request_ids }) };
  try {
    let answer = await post('heartbeat', { ...held, ...(draining && { draining }) });
    if (answer.status === 404 && !draining) answer = await post('register', { ...registration, ...held });
    const receipt = await answer.json();
    if (!answer.ok) throw new Error(`${answer.status}`);
    heardMs = Date.now();
    say({ kind: 'beaten', cancelled_request_ids: receipt.cancelled_request_ids ?? [] });
    wait();
  } catch {
    // The agent tells of failures when it can again; here the only thing to do is to try again.
    wait(PAUSE_MS);
  }
}

function post(operation: string, body: unknown): Promise<Response> {
  return fetch(`${baseUrl}/api/agent/${operation}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(BEAT_TIMEOUT_MS),
  });
}

parentPort?.on('message', (told: PulseState) => {
  state = told;
  wait();
});
say({ kind: 'ready' });
