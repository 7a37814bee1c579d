/**
 * The failures that the overview shows, and the problems that follow from them: an agent at which tasks of
 * one type fail, and a type that fails everywhere. It holds the thresholds, the texts and the remedies.
 *
 *   agent_failing   the agent's last five tasks of the type failed, or at least half of ten or more. Offline
 *                   agents are left out: their silence is the problem then
 *   type_failing    the same holds for all tasks of the type, two or more agents had such tasks, and at least
 *                   half of them failed at each. It replaces the problems of these agents
 *
 * Each is a problem until five minutes after the last failure; then it is a warning.
 */
import type { EndedTally, Failures } from '../../../domain/failures.ts';
import { cutText } from '../../../domain/payload-preview.ts';
import type { OverviewProblem, RecentFailures } from '../../../ports/admin.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { createProblem } from './problem-words.ts';

const IN_ROW_MIN = 5;
const ENDED_MIN = 10;
const FAILED_SHARE = 0.5;
const GOES_ON_MS = 5 * 60_000;
const AGENTS_MIN = 2;
/** How many problems of one kind are shown. */
const SHOWN_MAX = 10;
const ERROR_SHOWN_CHARS = 120;
const GROUPS_MAX = 50;

/** A tally with at least one failure. */
type Failing = EndedTally & { readonly last: NonNullable<EndedTally['last']> };

const DRAIN_IT =
  'restart this one, or drain it with `task-gateway agent drain ID` or on its page in the console';

const TEXTS = {
  agent_failing: {
    text: (one: Failing) => `\`${one.agent_id}\` fails \`${one.type}\`: ${describeTally(one)}.`,
    help: ({ last }: Failing, succeedsElsewhere: boolean, isDrained: boolean) =>
      `${succeedsElsewhere ? `Other agents succeed at it: ${isDrained ? 'restart this one, which is drained by the administrator' : DRAIN_IT}` : 'No other agent succeeds at it: look at the log of this one'}. ${seeTask(last)}`,
  },
  type_failing: {
    text: (one: Failing, agents: number) =>
      `\`${one.type}\` fails at all ${agents} agents: ${describeTally(one)}.`,
    help: ({ last }: Failing) =>
      `The cause is in what the tasks share: their payload, or what the agents call. ${seeTask(last)}`,
  },
} as const;

/** For example, `5 in a row, the last with: no space left`, or `6 of 11, …`. */
function describeTally({ inRow, failed, ended, last: { error, outcome } }: Failing): string {
  const counts = inRow >= IN_ROW_MIN ? `${inRow} in a row` : `${failed} of ${ended}`;
  return `${counts}, the last with: ${describeError(error ?? outcome)}`;
}

/** Writes an error as one line, without backticks and without a full stop at its end. */
function describeError(error: string): string {
  const line = cutText(error.replace(/\s/g, ' ').replaceAll('`', "'"), ERROR_SHOWN_CHARS).trim();
  return line.endsWith('.') ? line.slice(0, -1) : line;
}

function seeTask({ request_id }: Failing['last']): string {
  return `One of the tasks is \`${request_id}\`.`;
}

export function describeFailures({ sinceMs, ended, failed, groups }: Failures): RecentFailures {
  return {
    since: sinceMs === null ? null : sinceMs / 1_000,
    ended,
    failed,
    groups_total: groups.length,
    groups: groups.slice(0, GROUPS_MAX).map(({ type: task_type, firstMs, lastMs, ...group }) => ({
      task_type,
      ...group,
      first_time: firstMs / 1_000,
      last_time: lastMs / 1_000,
    })),
  };
}

export type AgentFailures = {
  /** How many tasks were lost with the agent. */
  readonly lost: number;
  /** A sentence, if at least half of the agent's tasks of one type failed for one cause; else empty. */
  readonly failed: string;
};

/** Finds the failures of each agent. Agents without failures are left out. */
export function findAgentFailures({ groups }: Pick<Failures, 'groups'>): ReadonlyMap<string, AgentFailures> {
  const found = new Map<string, AgentFailures>();
  for (const { agent_id, outcome, type, count, ended, error } of groups) {
    if (agent_id === null) continue;
    const { lost, failed } = found.get(agent_id) ?? { lost: 0, failed: '' };
    const isCause = outcome !== 'agent_lost' && failed === '' && count >= FAILED_SHARE * ended;
    found.set(agent_id, {
      lost: outcome === 'agent_lost' ? lost + count : lost,
      failed: isCause
        ? ` Before, ${count} of its ${ended} \`${type}\` failed: ${describeError(error ?? outcome)}.`
        : failed,
    });
  }
  return found;
}

/** Lists problems of types, then problems of agents; within each kind, the most failed tasks come first. */
export function listFailureProblems(
  { tallies }: Pick<Failures, 'tallies'>,
  nowMs: number,
  agentIndex: Pick<AgentIndex, 'find'>,
): readonly OverviewProblem[] {
  const byType = Map.groupBy(tallies, ({ type }) => type);
  const everywhere = [...byType].flatMap(([, ofType]) => {
    const sum = sumTallies(ofType);
    const agents = ofType.filter(({ agent_id }) => agent_id !== null).length;
    return sum && isFailing(sum) && failsEverywhere(ofType) ? [{ sum, agents }] : [];
  });
  const types = new Set(everywhere.map(({ sum }) => sum.type));
  const agents = tallies
    .filter(isFailing)
    .filter(({ agent_id, type }) => !types.has(type) && isOnline(agent_id, agentIndex));
  return [
    ...everywhere
      .toSorted((a, b) => b.sum.failed - a.sum.failed)
      .slice(0, SHOWN_MAX)
      .map(({ sum, agents: count }) => describeType(sum, count, nowMs)),
    ...agents
      .toSorted((a, b) => b.failed - a.failed)
      .slice(0, SHOWN_MAX)
      .map((one) => {
        const record = one.agent_id === null ? undefined : agentIndex.find(one.agent_id);
        return describeAgent(one, nowMs, byType.get(one.type) ?? [], record?.drained_by_operator ?? false);
      }),
  ];
}

function isFailing(tally: EndedTally): tally is Failing {
  const { last, inRow, ended, failed } = tally;
  if (last === null) return false;
  return inRow >= IN_ROW_MIN || (ended >= ENDED_MIN && failed >= FAILED_SHARE * ended);
}

function failsEverywhere(ofType: readonly EndedTally[]): boolean {
  const agents = ofType.filter(({ agent_id }) => agent_id !== null);
  return agents.length >= AGENTS_MIN && agents.every(({ ended, failed }) => failed >= FAILED_SHARE * ended);
}

/** Adds up the tallies of one type. `inRow` counts only if no agent had a success. */
function sumTallies(ofType: readonly EndedTally[]): EndedTally | null {
  const [first] = ofType;
  if (!first) return null;
  const ended = ofType.reduce((sum, one) => sum + one.ended, 0);
  const failed = ofType.reduce((sum, one) => sum + one.failed, 0);
  const last = ofType
    .flatMap((one) => one.last ?? [])
    .reduce<EndedTally['last']>((late, one) => (late && late.endedMs >= one.endedMs ? late : one), null);
  const sinceMs = Math.min(...ofType.flatMap((one) => (one.failed > 0 ? [one.sinceMs] : [])));
  return {
    type: first.type,
    agent_id: null,
    ended,
    failed,
    inRow: failed === ended ? failed : 0,
    last,
    sinceMs,
  };
}

/** Whether the agent is registered and not offline. No tasks fail at other agents now. */
function isOnline(agent_id: string | null, agentIndex: Pick<AgentIndex, 'find'>): boolean {
  const record = agent_id === null ? undefined : agentIndex.find(agent_id);
  return record !== undefined && record.offlineMs === null && record.unregisteredMs === null;
}

function severityOf({ last }: Failing, nowMs: number): 'problem' | 'warning' {
  return nowMs - last.endedMs <= GOES_ON_MS ? 'problem' : 'warning';
}

function describeAgent(
  one: Failing,
  nowMs: number,
  ofType: readonly EndedTally[],
  isDrained: boolean,
): OverviewProblem {
  const succeedsElsewhere = ofType.some(({ ended, failed }) => failed < FAILED_SHARE * ended);
  return createProblem('agent_failing', severityOf(one, nowMs), {
    ...describeShared(one),
    text: TEXTS.agent_failing.text(one),
    help: TEXTS.agent_failing.help(one, succeedsElsewhere, isDrained),
    agent_id: one.agent_id,
  });
}

function describeType(sum: Failing, agents: number, nowMs: number): OverviewProblem {
  return createProblem('type_failing', severityOf(sum, nowMs), {
    ...describeShared(sum),
    text: TEXTS.type_failing.text(sum, agents),
    help: TEXTS.type_failing.help(sum),
  });
}

function describeShared({ sinceMs, type: task_type, last: { request_id }, failed: count }: Failing) {
  return { since: sinceMs / 1_000, task_type, request_id, count };
}
