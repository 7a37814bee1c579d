/**
 * Tells the spinner of `run` and `task wait` which agents a waiting task could go to. That needs the agents'
 * listing, and so the admin secret; without it the spinner only names the tags.
 */
import { readMonotonicMs, systemClock } from '../clock.ts';
import type { ListedAgent, Task } from '../contract.ts';
import type { Connection } from './connection.ts';
import type { Spinner } from './terminal/spinner.ts';

const LIST_EVERY_MS = 5_000;
const LIST_TIMEOUT_MS = 5_000;

/**
 * Creates a function to call with the task at each poll. While the task is pending, the spinner shows its
 * agents, at most 5 s old. If a listing fails, the spinner shows no agents and the wait goes on.
 */
export function createAgentsWatch(
  { client, adminAuth }: Pick<Connection, 'client' | 'adminAuth'>,
  spinner: Pick<Spinner, 'showAgents'>,
  signal: AbortSignal,
): (task: Task) => void {
  let nextMs = 0;
  return ({ status, task_tags }) => {
    if (adminAuth === undefined || status !== 'pending' || readMonotonicMs(systemClock) < nextMs) return;
    nextMs = readMonotonicMs(systemClock) + LIST_EVERY_MS;
    client.listAgents({}, { signal, maxRetries: 0, timeoutMs: LIST_TIMEOUT_MS }).then(
      ({ agents }) => spinner.showAgents(describeAgents(agents, task_tags)),
      () => spinner.showAgents(''),
    );
  };
}

/** Describes the agents that have one of the tags: how many they are, and why none takes the task. */
export function describeAgents(agents: readonly ListedAgent[], task_tags: readonly string[]): string {
  const tagged = agents.filter(({ agent_tags }) => agent_tags.some((tag) => task_tags.includes(tag)));
  if (tagged.length === 0) return 'no agent has it';
  const counts = new Map<string, number>();
  for (const agent of tagged) {
    const state = describeState(agent);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const who = tagged.length === 1 ? '1 agent has it' : `${tagged.length} agents have it`;
  const [[only = ''] = []] = counts;
  if (counts.size === 1) return `${who}, ${tagged.length === 1 ? '' : 'all '}${only}`;
  return `${who}: ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}`;
}

function describeState({ state, full, eligible }: ListedAgent): string {
  if (eligible) return 'free';
  return full && (state === 'ready' || state === 'processing') ? 'full' : state;
}
