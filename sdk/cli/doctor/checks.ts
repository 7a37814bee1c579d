/**
 * The checks of `doctor`, except the round trip. Each returns findings, which say what is wrong and what to
 * do.
 */
import type { TaskGatewayClient } from '../../client.ts';
import { readMonotonicMs, systemClock } from '../../clock.ts';
import { AuthenticationError, NotFoundError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import { isSettled } from '../../settled.ts';
import type { Connection } from '../connection.ts';
import { adviseAddress, describeError } from '../exit-codes.ts';
import { describeValue } from '../terminal/safe-text.ts';
import { VERSION } from '../version.ts';

export type CheckName =
  | 'gateway'
  | 'version'
  | 'gateway secret'
  | 'admin secret'
  | 'agents'
  | 'clock'
  | 'agent calls'
  | 'event stream'
  | 'round trip';

/** One line of `doctor`, and one value of its JSON. */
export type Finding = {
  readonly check: CheckName;
  /** `wrong` makes `doctor` fail; `note` does not. */
  readonly state: 'right' | 'wrong' | 'note';
  readonly text: string;
  /** Says what to do; empty if there is nothing. */
  readonly advice: string;
};

const RESPONSE_TIMEOUT_MS = 5_000;
const CLOCK_DIFFERENCE_SECONDS_MAX = 5;

export function createFinding(check: CheckName, state: Finding['state'], text: string, advice = ''): Finding {
  return { check, state, text, advice };
}

function sendProbe(
  { url, sdkOptions }: Pick<Connection, 'url' | 'sdkOptions'>,
  signal: AbortSignal,
): Promise<Response> {
  const address = `${url.replace(/\/+$/, '')}/readyz`;
  const { headers } = sdkOptions;
  return sdkOptions.fetch(new Request(address, { headers, redirect: 'manual' }), {
    signal: AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
  });
}

/** Finds out whether a gateway responds at the address, is ready, and has a compatible version. */
export async function diagnoseGateway(
  { url, sdkOptions }: Pick<Connection, 'url' | 'sdkOptions'>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const startMs = readMonotonicMs(systemClock);
  let response: Response;
  try {
    response = await sendProbe({ url, sdkOptions }, signal);
  } catch (error) {
    const text = `No response from ${url}${describeCause(error)}.`;
    return [createFinding('gateway', 'wrong', text, adviseAddress())];
  }
  const version = response.headers.get('task-gateway-version');
  const elapsedMs = Math.round(readMonotonicMs(systemClock) - startMs);
  if (version === null) {
    const text = `The server at ${url} does not identify itself as a Task Gateway (status ${response.status}).`;
    return [createFinding('gateway', 'wrong', text, 'Check host, port and path of --url.')];
  }
  const versions = compareVersions(version);
  if (!response.ok) {
    const reason = (await readField(response, 'reason')) ?? `status ${response.status}`;
    const text = `The gateway at ${url} responds, but is not ready (${reason}).`;
    // If a gateway is not ready, only what is wrong with it is reported.
    const others = versions.state === 'wrong' ? [versions] : [];
    return [createFinding('gateway', 'wrong', text, 'See its log.'), ...others];
  }
  const warning = await readField(response, 'warning');
  if (warning === undefined) {
    const text = `The gateway at ${url} is ready (${elapsedMs} ms).`;
    return [createFinding('gateway', 'right', text), versions];
  }
  const text = `The gateway at ${url} responds (${elapsedMs} ms) and warns: ${warning}.`;
  return [createFinding('gateway', 'note', text, 'See its log.'), versions];
}

/** Returns the platform's error code, like ECONNREFUSED or one for an untrusted certificate. */
function describeCause(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
    if (cause.name === 'TimeoutError') return ` within ${RESPONSE_TIMEOUT_MS / 1_000} s`;
  }
  return '';
}

/** Returns a field of a body, or undefined. */
async function readField(response: Response, name: string): Promise<string | undefined> {
  const body: unknown = await response.json().catch(() => undefined);
  const fields = typeof body === 'object' && body !== null ? new Map(Object.entries(body)) : new Map();
  const value: unknown = fields.get(name) ?? undefined;
  return value === undefined ? undefined : describeValue(value);
}

/**
 * Compares the gateway's version with that of this command. They are compatible if the major versions agree.
 */
export function compareVersions(version: string, own: string = VERSION): Finding {
  const [major] = version.split('.');
  const text = `The gateway has version ${version}, this command has version ${own}`;
  if (major === own.split('.')[0]) return createFinding('version', 'right', `${text}.`);
  const advice = `Install version ${major} of @task-gateway/sdk.`;
  return createFinding('version', 'wrong', `${text}: they may be incompatible.`, advice);
}

/** Finds out whether the gateway accepts the gateway secret, by asking for a task that does not exist. */
export async function diagnoseSecret(
  { client, isDefaultAuth }: Pick<Connection, 'client' | 'isDefaultAuth'>,
  signal: AbortSignal,
): Promise<Finding> {
  try {
    await client.getTask(`doctor-${createId()}`, { signal });
  } catch (error) {
    if (error instanceof AuthenticationError) {
      const text = isDefaultAuth
        ? 'No gateway secret was given, and the default one is wrong.'
        : 'The gateway secret is wrong.';
      return createFinding('gateway secret', 'wrong', text, adviseSecret('GATEWAY_AUTH'));
    }
    if (!(error instanceof NotFoundError)) {
      const text = `The gateway secret could not be checked: ${describeError(error).text}`;
      return createFinding('gateway secret', 'wrong', text);
    }
  }
  if (!isDefaultAuth) return createFinding('gateway secret', 'right', 'The gateway secret is right.');
  const text = 'The gateway uses the default secret, which is public.';
  return createFinding(
    'gateway secret',
    'note',
    text,
    'Start the gateway with GATEWAY_AUTH set to its own secret.',
  );
}

/** Finds out whether the gateway accepts the admin secret, and how many agents can take a task. */
export async function diagnoseAgents(
  { client, adminAuth }: Pick<Connection, 'client' | 'adminAuth'>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (adminAuth === undefined) {
    const text = 'No admin secret was given, so the agents were not checked.';
    return [createFinding('admin secret', 'note', text, adviseSecret('ADMIN_AUTH'))];
  }
  try {
    const { agents, total } = await client.listAgents({}, { signal });
    const eligible = agents.filter((agent) => agent.eligible).length;
    const finding = createFinding('admin secret', 'right', 'The admin secret is right.');
    return [finding, describeAgents(total, eligible)];
  } catch (error) {
    if (!(error instanceof AuthenticationError)) {
      const text = `The admin secret could not be checked: ${describeError(error).text}`;
      return [createFinding('admin secret', 'wrong', text)];
    }
    return [createFinding('admin secret', 'wrong', 'The admin secret is wrong.', adviseSecret('ADMIN_AUTH'))];
  }
}

function adviseSecret(setting: 'GATEWAY_AUTH' | 'ADMIN_AUTH'): string {
  const variable = setting === 'GATEWAY_AUTH' ? 'TASK_GATEWAY_AUTH' : 'TASK_GATEWAY_ADMIN_AUTH';
  return `Set ${variable}, or use --auth-file, to give the value of the gateway’s ${setting}.`;
}

function describeAgents(total: number, eligible: number): Finding {
  if (total === 0) {
    const text = 'No agent is registered, so a task fails at once unless it has a queue timeout.';
    const advice = 'Start one with "task-gateway agent exec --tag TAG -- COMMAND".';
    return createFinding('agents', 'note', text, advice);
  }
  const text = `${total} ${total === 1 ? 'agent is' : 'agents are'} registered, ${eligible} can take a task now.`;
  if (eligible > 0) return createFinding('agents', 'right', text);
  const advice = 'Run "task-gateway agent list" to see which are full, draining or offline.';
  return createFinding('agents', 'note', text, advice);
}

/**
 * Compares the clocks of the gateway and of this machine, by a response's date, which has whole seconds.
 * Returns nothing without a response or a date.
 */
export async function diagnoseClock(
  connection: Pick<Connection, 'url' | 'sdkOptions'>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const beforeMs = systemClock.nowMs();
  const response = await sendProbe(connection, signal).catch(() => undefined);
  await response?.body?.cancel();
  const dateMs = Date.parse(response?.headers.get('date') ?? '');
  return Number.isNaN(dateMs) ? [] : [compareClocks(dateMs / 1_000, beforeMs, systemClock.nowMs())];
}

/**
 * Compares the clocks: the gateway's showed `gatewaySeconds` while this machine's went from `beforeMs` to
 * `afterMs`.
 */
export function compareClocks(gatewaySeconds: number, beforeMs: number, afterMs: number): Finding {
  const behindSeconds = beforeMs / 1_000 - gatewaySeconds;
  const aheadSeconds = gatewaySeconds - afterMs / 1_000;
  const differenceSeconds = Math.max(behindSeconds, aheadSeconds, 0);
  if (differenceSeconds <= CLOCK_DIFFERENCE_SECONDS_MAX) {
    return createFinding('clock', 'right', 'The clocks of the gateway and of this machine agree.');
  }
  const direction = behindSeconds > aheadSeconds ? 'behind' : 'ahead of';
  const text = `The gateway’s clock is ${Math.round(differenceSeconds)} s ${direction} this machine’s clock.`;
  const advice = 'Synchronise both with NTP: agents reject signed pushes when clocks differ.';
  return createFinding('clock', 'wrong', text, advice);
}

/** Explains why no event of a task arrived within `waitedSeconds`. */
export async function explainMissingEvent(
  client: Pick<TaskGatewayClient, 'getTask'>,
  request_id: string,
  waitedSeconds: number,
): Promise<Finding> {
  const task = await client.getTask(request_id);
  if (isSettled(task)) {
    const text = `The outcome of a task is known (${task.error_info ?? task.status}), but its event did not arrive within ${waitedSeconds} s.`;
    const advice = 'A proxy may hold the stream back: turn buffering off for /api/cli/events there.';
    return createFinding('round trip', 'wrong', text, advice);
  }
  const text = `A task is still ${task.status} after ${waitedSeconds} s.`;
  const advice = 'The gateway is overloaded, or requests to /api/agent/claim do not reach it.';
  return createFinding('round trip', 'wrong', text, advice);
}
