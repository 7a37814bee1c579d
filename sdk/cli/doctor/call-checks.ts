/**
 * The checks of `doctor` that make an agent's calls and open an event stream. They find a proxy that passes
 * some calls and not others, or holds a stream back. They leave nothing: the agent unregisters, and no task
 * is submitted.
 */
import { readMonotonicMs, systemClock } from '../../clock.ts';
import { NotFoundError, TaskGatewayError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import type { Connection } from '../connection.ts';
import { describeError, messageOf } from '../exit-codes.ts';
import { createFinding, type Finding } from './checks.ts';

const TIMEOUT_MS = 10_000;
const STREAM_ADVICE =
  'A proxy may hold the stream back: turn buffering off for /api/cli/events there, or see the gateway’s log.';

/** Makes the calls. Rejects only if `outer` aborts, or on a bug. */
export async function diagnoseCalls(connection: Connection, outer: AbortSignal): Promise<readonly Finding[]> {
  const signal = AbortSignal.any([outer, AbortSignal.timeout(TIMEOUT_MS)]);
  return [await checkAgentCalls(connection, signal, outer), await checkStream(connection, signal, outer)];
}

async function checkAgentCalls(
  { client }: Pick<Connection, 'client'>,
  signal: AbortSignal,
  outer: AbortSignal,
): Promise<Finding> {
  const agent_id = `doctor-${createId()}`;
  const startMs = readMonotonicMs(systemClock);
  let call = 'register';
  try {
    const agent = { agent_id, endpoint: 'pull', agent_tags: [agent_id] };
    const { registration } = await client.registerAgent(agent, { signal });
    const token = registration === undefined ? {} : { registration };
    try {
      call = 'heartbeat';
      await client.heartbeatAgent({ agent_id, ...token }, { signal });
      call = 'claim';
      await client.claimTask({ agent_id, wait: 0 }, { signal });
      call = 'result';
      await reportNothing(client, agent_id, signal);
    } finally {
      await client.unregisterAgent({ agent_id, ...token });
    }
    const text = `An agent can register, send heartbeats, claim, report and unregister (${elapsed(startMs)}).`;
    return createFinding('agent calls', 'right', text);
  } catch (error) {
    if (outer.aborted || !(error instanceof TaskGatewayError)) throw error;
    const text = `An agent’s call (/api/agent/${call}) failed: ${describeError(error).text}`;
    return createFinding('agent calls', 'wrong', text, 'Something on the way may not let it through.');
  }
}

/** Reports on a task that does not exist: only the gateway itself says that it is unknown. */
async function reportNothing(
  client: Connection['client'],
  agent_id: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const request_id = `doctor-${createId()}`;
    await client.reportResult({ request_id, agent_id, status: 'running' }, { signal });
  } catch (error) {
    if (!(error instanceof NotFoundError) || error.code !== 'task_not_found') throw error;
  }
}

/** Opens the stream of an unused session; the gateway sends its first bytes at once. */
async function checkStream(
  { url, auth, sdkOptions }: Connection,
  signal: AbortSignal,
  outer: AbortSignal,
): Promise<Finding> {
  const startMs = readMonotonicMs(systemClock);
  const address = `${url.replace(/\/+$/, '')}/api/cli/events?cli_session_id=doctor-${createId()}`;
  const headers = new Headers(sdkOptions.headers);
  headers.set('authorization', `Bearer ${auth}`);
  headers.set('accept', 'text/event-stream');
  const closing = new AbortController();
  try {
    const response = await sdkOptions.fetch(new Request(address, { headers, redirect: 'manual' }), {
      signal: AbortSignal.any([signal, closing.signal]),
    });
    const type = response.headers.get('content-type') ?? 'none';
    if (!response.ok || !type.toLowerCase().startsWith('text/event-stream')) {
      const text = `The event stream did not open (status ${response.status}, content type ${type}).`;
      return createFinding('event stream', 'wrong', text, STREAM_ADVICE);
    }
    const first = await response.body?.getReader().read();
    if (first?.done !== false) throw new Error('it ended at once');
    const text = `The event stream opens, and its first bytes arrive at once (${elapsed(startMs)}).`;
    return createFinding('event stream', 'right', text);
  } catch (error) {
    if (outer.aborted) throw error;
    const why = signal.aborted ? `nothing arrived within ${TIMEOUT_MS / 1_000} s` : messageOf(error);
    return createFinding('event stream', 'wrong', `The event stream failed: ${why}.`, STREAM_ADVICE);
  } finally {
    closing.abort();
  }
}

function elapsed(startMs: number): string {
  return `${Math.round(readMonotonicMs(systemClock) - startMs)} ms`;
}
