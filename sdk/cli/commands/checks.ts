/** What `doctor` looks at, one after the other; each finding says what to do. */
import type { TaskGatewayClient } from '../../client.ts';
import { systemClock } from '../../clock.ts';
import { AuthenticationError, NotFoundError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import type { Connection } from '../connection.ts';
import { judgeError } from '../exit-codes.ts';
import { VERSION } from '../version.ts';

/** `wrong` makes the doctor fail, `note` does not. */
export type Finding = {
  readonly check:
    | 'gateway'
    | 'version'
    | 'gateway secret'
    | 'admin secret'
    | 'agents'
    | 'clock'
    | 'round trip';
  readonly state: 'right' | 'wrong' | 'note';
  readonly text: string;
  /** What to do; empty where nothing is. */
  readonly advice: string;
};

const REACH_MS = 5_000;
const SKEW_SECONDS_MAX = 5;

function right(check: Finding['check'], text: string): Finding {
  return { check, state: 'right', text, advice: '' };
}

function wrong(check: Finding['check'], text: string, advice: string): Finding {
  return { check, state: 'wrong', text, advice };
}

function note(check: Finding['check'], text: string, advice: string): Finding {
  return { check, state: 'note', text, advice };
}

/** Whether a gateway answers, is ready, and is of this command's major version. */
export async function checkGateway(
  { url, reach }: Pick<Connection, 'url' | 'reach'>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const startMs = systemClock.nowMs();
  const address = `${url.replace(/\/+$/, '')}/readyz`;
  let response: Response;
  try {
    response = await reach.fetch(new Request(address, { redirect: 'manual' }), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(REACH_MS)]),
    });
  } catch (error) {
    const advice = 'Start it, or say with --url or TASK_GATEWAY_URL where it is.';
    return [wrong('gateway', `Nothing answers at ${url}${describeCause(error)}.`, advice)];
  }
  const version = response.headers.get('task-gateway-version');
  const tookMs = systemClock.nowMs() - startMs;
  if (version === null) {
    const text = `What answers at ${url} does not say that it is a Task Gateway (status ${response.status}).`;
    return [wrong('gateway', text, 'Check --url: host, port and path.')];
  }
  const ready = response.ok
    ? right('gateway', `${url} answers and is ready (${tookMs} ms).`)
    : wrong(
        'gateway',
        `${url} answers, but is not ready (${await readReason(response)}).`,
        'Look into its log.',
      );
  return [ready, judgeVersion(version)];
}

/** The platform's code of a failure, like ECONNREFUSED or that of a certificate nobody trusts. */
function describeCause(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
    if (cause.name === 'TimeoutError') return ` within ${REACH_MS / 1_000} s`;
  }
  return '';
}

async function readReason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined);
  const isNamed = typeof body === 'object' && body !== null && 'reason' in body;
  return isNamed ? String(body.reason) : `status ${response.status}`;
}

/** Within a major version everything goes together. */
export function judgeVersion(version: string, own: string = VERSION): Finding {
  if (version.split('.')[0] === own.split('.')[0]) {
    return right('version', `The gateway speaks version ${version}, this command ${own}.`);
  }
  const text = `The gateway speaks version ${version}, this command ${own}: they may misunderstand each other.`;
  return wrong('version', text, `Install @task-gateway/sdk of version ${version.split('.')[0]}.`);
}

/** Whether the gateway takes the secret: asks for a task that isn't there. */
export async function checkSecret(
  { client, isDefaultAuth }: Pick<Connection, 'client' | 'isDefaultAuth'>,
  signal: AbortSignal,
): Promise<Finding> {
  const how = 'set TASK_GATEWAY_AUTH, or give --auth-file, to what the gateway has as GATEWAY_AUTH';
  try {
    await client.getTask(`doctor-${createId()}`, { signal });
  } catch (error) {
    if (error instanceof AuthenticationError) {
      const tried = isDefaultAuth
        ? 'No secret was given, and the default one is wrong.'
        : 'The secret is wrong.';
      return wrong('gateway secret', tried, `${how[0]?.toUpperCase()}${how.slice(1)}.`);
    }
    if (!(error instanceof NotFoundError)) return wrong('gateway secret', judgeError(error).text, '');
  }
  if (!isDefaultAuth) return right('gateway secret', 'The gateway secret is right.');
  return note(
    'gateway secret',
    'The gateway uses the default secret, which everybody knows.',
    'Give it one of its own.',
  );
}

/** Whether the administrator's secret is right, and which agents it shows. */
export async function checkAgents(
  { client, adminAuth }: Pick<Connection, 'client' | 'adminAuth'>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (adminAuth === undefined) {
    const advice = 'Set TASK_GATEWAY_ADMIN_AUTH to see the agents.';
    return [
      note('admin secret', 'No administrator’s secret was given: the listings were not tried.', advice),
    ];
  }
  try {
    const { agents, total } = await client.listAgents({ signal });
    const eligible = agents.filter((agent) => agent.eligible).length;
    return [right('admin secret', 'The administrator’s secret is right.'), judgeAgents(total, eligible)];
  } catch (error) {
    if (!(error instanceof AuthenticationError)) return [wrong('admin secret', judgeError(error).text, '')];
    const advice = 'Set TASK_GATEWAY_ADMIN_AUTH to what the gateway has as ADMIN_AUTH.';
    return [wrong('admin secret', 'The administrator’s secret is wrong.', advice)];
  }
}

function judgeAgents(total: number, eligible: number): Finding {
  if (total === 0) {
    const advice = 'Start one: task-gateway agent exec --tag TAG -- COMMAND.';
    return note('agents', 'No agent is registered: every task fails at once.', advice);
  }
  const text = `${total} ${total === 1 ? 'agent is' : 'agents are'} registered, ${eligible} can take a task now.`;
  if (eligible > 0) return right('agents', text);
  return note('agents', text, 'See with "task-gateway agent list" which are full, draining or offline.');
}

/** Whether the gateway's clock and this machine's agree, by a task's `create_time` and the time it was asked at. */
export function judgeClock(createdSeconds: number, beforeMs: number, afterMs: number): Finding {
  const early = beforeMs / 1_000 - createdSeconds;
  const late = createdSeconds - afterMs / 1_000;
  const off = Math.max(early, late, 0);
  if (off <= SKEW_SECONDS_MAX) return right('clock', 'The clocks of the gateway and of this machine agree.');
  const direction = early > late ? 'behind' : 'ahead of';
  const text = `The gateway’s clock is ${Math.round(off)} s ${direction} this machine’s.`;
  return wrong('clock', text, 'Set both by NTP: signed pushes are refused when the clocks differ.');
}

/** What went wrong when no event of a task came. */
export async function explainSilence(
  client: Pick<TaskGatewayClient, 'getTask'>,
  request_id: string,
  seconds: number,
): Promise<Finding> {
  const { status, error_info } = await client.getTask(request_id);
  if (status === 'success' || status === 'failed') {
    const text = `A task ended (${error_info ?? status}), but its event did not come within ${seconds} s.`;
    const advice =
      'Something between holds the stream back: turn buffering off for /api/cli/events in the proxy.';
    return wrong('round trip', text, advice);
  }
  const text = `A task is still ${status} after ${seconds} s.`;
  return wrong('round trip', text, 'The gateway is overloaded, or /api/agent/claim does not get through.');
}

export { right, wrong };
