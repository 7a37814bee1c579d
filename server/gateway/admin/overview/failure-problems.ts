/**
 * The failures as the overview has them, and the problems of those that fail: an agent at which tasks of one
 * type fail, a type that fails everywhere. The thresholds, and in one table the texts and remedies.
 *
 *   agent_failing   its last five tasks of the type failed, or half of ten or more, and it is not offline:
 *                   then its silence is the problem
 *   type_failing    the same of all tasks of the type, and at every agent at least half failed, of two or
 *                   more agents. It stands for the agents: none of them is named for this type
 *
 * Either is a problem as long as it goes on: until five minutes after the last failure. Then it is a warning.
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
/** Problems of one kind. */
const SHOWN_MAX = 10;
const ERROR_SHOWN_CHARS = 120;
const GROUPS_MAX = 50;

/** A tally of which the last failure is known: there is one. */
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

/** `5 in a row, the last with: no space left` or `6 of 11, …`. */
function describeTally({ inRow, failed, ended, last: { error, outcome } }: Failing): string {
  const counts = inRow >= IN_ROW_MIN ? `${inRow} in a row` : `${failed} of ${ended}`;
  return `${counts}, the last with: ${describeError(error ?? outcome)}`;
}

/** In one line, without a full stop at its end and without marks of code. */
function describeError(error: string): string {
  const line = cutText(error.replace(/\s/g, ' ').replaceAll('`', "'"), ERROR_SHOWN_CHARS).trim();
  return line.endsWith('.') ? line.slice(0, -1) : line;
}

function seeTask({ request_id }: Failing['last']): string {
  return `One of the tasks is \`${request_id}\`.`;
}

/** The failures as the overview has them. */
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

/** The failed tasks of an agent. */
export type AgentFailures = {
  /** How many tasks were lost with it. */
  readonly lost: number;
  /** If at least half of its tasks of a type failed for one cause: a sentence that says so; else empty. */
  readonly failed: string;
};

/** By agent; those without failures are not there. */
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

/** The problems, first those of types; each kind by how many tasks failed. */
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

/** The tally of all tasks of a type. A row is only one of all agents if none of them succeeded. */
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

/** An agent that is not registered any more, or offline, fails nothing now. */
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
