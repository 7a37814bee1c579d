/**
 * The code of the heartbeat thread: it sends an agent's heartbeats while a handler blocks the agent's own
 * thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { parseJson, readText } from '../bodies.ts';
import { checkHeartbeatReceipt, checkRegistrationReceipt } from '../later-responses.ts';
import type { HeartbeatMessage, HeartbeatState, HeartbeatTarget } from './heartbeat.ts';

const { baseUrl, headers }: HeartbeatTarget = workerData;
/**
 * The agent sends a heartbeat every interval, with some jitter. After this many intervals without one it must
 * be blocked.
 */
const OVERDUE_INTERVALS = 1.4;
const HEARTBEAT_TIMEOUT_MS = 10_000;
/** The least time between two attempts, whatever the gateway responds. */
const PAUSE_MS = 1_000;

let state: HeartbeatState | undefined;
/** When the gateway last responded to this thread or to the agent, in monotonic milliseconds. */
let contactMs = Number.NEGATIVE_INFINITY;
/** When this thread last began to send, in monotonic milliseconds. */
let sentMs = Number.NEGATIVE_INFINITY;
let timer: NodeJS.Timeout | undefined;

function post(message: HeartbeatMessage): void {
  parentPort?.postMessage(message);
}

/**
 * Sets the timer for the next heartbeat: after `delayMs`, by default when the agent's own would be overdue.
 */
function schedule(delayMs?: number): void {
  clearTimeout(timer);
  if (!state) return;
  const dueMs = Math.max(contactMs + state.intervalMs * OVERDUE_INTERVALS, sentMs + PAUSE_MS);
  timer = setTimeout(sendHeartbeat, delayMs ?? Math.max(0, dueMs - performance.now()));
}

/** Sends a heartbeat, and registers the agent if the gateway does not know it. */
async function sendHeartbeat(): Promise<void> {
  if (!state) return;
  const { registration, token, request_ids, draining, auth } = state;
  const body = { agent_id: registration.agent_id, auth, ...(request_ids && { request_ids }) };
  try {
    const named = { ...body, ...(token !== undefined && { registration: token }) };
    sentMs = performance.now();
    let response = await send('heartbeat', { ...named, ...(draining && { draining }) });
    const isUnknown = response.status === 404 && !draining;
    if (isUnknown) response = await send('register', { ...registration, ...body });
    if (!response.ok) throw new Error(`${response.status}`);
    const receipt: unknown = parseJson(await readText(response));
    if (isUnknown && checkRegistrationReceipt(receipt) && receipt.registration !== undefined) {
      post({ kind: 'registered', token: receipt.registration });
    }
    if (!checkHeartbeatReceipt(receipt)) throw new Error('not a gateway');
    contactMs = performance.now();
    post({ kind: 'sent', cancelled_request_ids: receipt.cancelled_request_ids ?? [] });
    schedule();
  } catch {
    // The agent logs failures of its own heartbeats when it is no longer blocked; this thread only tries
    // again.
    schedule(PAUSE_MS);
  }
}

function send(operation: string, body: unknown): Promise<Response> {
  const own = new Headers(headers);
  own.set('content-type', 'application/json');
  return fetch(`${baseUrl}/api/agent/${operation}`, {
    method: 'POST',
    headers: own,
    body: JSON.stringify(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(HEARTBEAT_TIMEOUT_MS),
  });
}

parentPort?.on('message', (update: HeartbeatState) => {
  state = update;
  contactMs = Math.max(contactMs, performance.now() - update.sinceContactMs);
  schedule();
});
post({ kind: 'ready' });
