/** Says in words how the pushes to an agent ended. Pure. */
import type { AgentPush, AgentPushes } from '../../gateway/shapes.ts';
import { formatDuration } from '../../parts/format.ts';

/** The endpoint of an agent that fetches its tasks. */
export const PULL = 'pull';

/**
 * Describes the pushes in a few words, with a class for their colour. `count` is how many failed in a row.
 */
export function describePush(
  endpoint: string,
  push: AgentPushes,
): { readonly text: string; readonly tone: string; readonly count: number } {
  const { last_status, last_error, last_ms, failures } = push;
  if (endpoint === PULL) return { text: 'pull, no pushes', tone: 'muted', count: 0 };
  if (failures > 0) return { text: last_error ?? `HTTP ${last_status}`, tone: 't-bad', count: failures };
  if (last_error !== null) return { text: last_error, tone: 't-wait', count: 0 };
  if (last_status === null) return { text: 'none yet', tone: 'muted', count: 0 };
  const took = last_ms === null ? '' : `, ${formatDuration(last_ms / 1000)}`;
  return { text: `${last_status}${took}`, tone: 'muted', count: 0 };
}

/** Says in a sentence what usually helps against the error of a push. */
export function adviseOnPush(error: string): string {
  if (/refused/i.test(error)) {
    return 'Nothing listens at the endpoint. Is the agent running, and is its port open to the gateway?';
  }
  if (/unreach|DNS/.test(error)) {
    return 'The gateway finds no way to the endpoint. Is its name right, and its network open to the gateway?';
  }
  if (/busy/.test(error)) return 'The endpoint takes no more tasks for now: it says that it is full.';
  if (/answered 401/.test(error))
    return 'It refuses the signature: its push secret or its clock is another than the gateway’s. Its log says which.';
  if (/answered \d/.test(error))
    return 'The endpoint responds, but does not take the task. Its log says why.';
  if (/time|respon/i.test(error)) {
    return 'The endpoint does not respond in time. An agent responds with 202 first and works then.';
  }
  return 'The agent’s log may say more.';
}

/** Attempts in a row with the same outcome. */
export type FoldedAttempt = { readonly attempt: AgentPush; readonly count: number };

/** How many attempts with the same outcome are shown one by one. Further ones become one row. */
const SHOWN_ALONE = 5;

/**
 * Folds the attempts, newest first. Of a long run of equal attempts, the rest becomes one row with their
 * number.
 */
export function foldAttempts(attempts: readonly AgentPush[]): readonly FoldedAttempt[] {
  const folded: FoldedAttempt[] = [];
  let equal = 0;
  for (const attempt of attempts) {
    const last = folded.at(-1);
    equal = last && isEqual(last.attempt, attempt) ? equal + 1 : 1;
    if (last && equal > SHOWN_ALONE + 1) folded[folded.length - 1] = { ...last, count: last.count + 1 };
    else folded.push({ attempt, count: 1 });
  }
  return folded;
}

function isEqual(a: AgentPush, b: AgentPush): boolean {
  return a.outcome === b.outcome && a.status === b.status && a.error === b.error;
}
