/**
 * Lists the present problems for the overview, each with its remedy. The most urgent come first, at most 50.
 * Each kind is shown at most 10 times, even if 1,000 agents fail.
 */

import { adviseOnPushError, END_DRAIN } from '../../../domain/advice-words.ts';
import { type AgentRecord, isDraining } from '../../../domain/agent.ts';
import { windowStartMs } from '../../../domain/failures.ts';
import type { Candidate } from '../../../domain/match.ts';
import type { TaskCounts } from '../../../domain/task-counts.ts';
import type { OverviewProblem } from '../../../ports/admin.ts';
import type { PushRecords } from '../../agents/push-records.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { rankTrouble, TROUBLE, takeInOrder } from '../agent-order.ts';
import { describeFirstQuestion, type FirstQuestion } from './answer-problem.ts';
import type { AgentFailures } from './failure-problems.ts';
import { countOf, createProblem, describeSince } from './problem-words.ts';
import { listTagProblems, type TagProblemSources } from './tag-problems.ts';

const PROBLEMS_MAX = 50;
/** How many problems of one kind are shown. */
const SHOWN_MAX = 10;
/** A limit counts as nearly reached from this share on. */
const NEAR_LIMIT_SHARE = 0.8;

export type ProblemSources = TagProblemSources & {
  /** The problems that follow from failures; `ofAgents` has the failures of each agent. */
  readonly failing: readonly OverviewProblem[];
  readonly ofAgents: ReadonlyMap<string, AgentFailures>;
  readonly agentIndex: Pick<AgentIndex, 'findSimilarTags' | 'findTag' | 'all'>;
  readonly pushRecords: Pick<PushRecords, 'find'>;
  readonly firstQuestion: FirstQuestion | null;
  readonly counts: Pick<TaskCounts, 'waitingForAnswer'>;
  readonly isSecretPublic: boolean;
  readonly isMetricsPublic: boolean;
  /** The limits of the settings, each with its present count. */
  readonly limits: readonly Limit[];
};

type Limit = {
  /** The plural that the sentence uses, such as `open tasks`. */
  readonly what: string;
  readonly setting: string;
  readonly count: number;
  readonly max: number;
};

export function describeStoreDown(sinceMs: number, error: string): OverviewProblem {
  return createProblem('store_down', 'problem', {
    since: sinceMs / 1_000,
    text: `The store does not respond: ${error}`,
    help: 'The gateway accepts nothing until it is back. Look at the store and at the log of the gateway.',
  });
}

const URGENCY: readonly string[] = ['problem', 'warning', 'note'];

/** Lists all problems but `store_down`. Among equally urgent ones, agents and types come before tags. */
export function listProblems(sources: ProblemSources): readonly OverviewProblem[] {
  const { nowMs, firstQuestion, counts } = sources;
  const byTrouble = Map.groupBy(sources.agentIndex.all(), rankTrouble);
  return [
    ...listAgentProblems(sources, byTrouble),
    ...sources.failing,
    ...listTagProblems(sources),
    ...listDrained(byTrouble),
    ...(firstQuestion
      ? [describeFirstQuestion(firstQuestion, Math.max(1, counts.waitingForAnswer), nowMs)]
      : []),
    ...sources.limits.filter(isNear).map(describeLimit),
    ...(sources.isSecretPublic ? [DEFAULT_SECRET] : []),
    ...(sources.isMetricsPublic ? [PUBLIC_METRICS] : []),
  ]
    .sort((a, b) => URGENCY.indexOf(a.severity) - URGENCY.indexOf(b.severity))
    .slice(0, PROBLEMS_MAX - 1);
}

/** The registered agents by their rank of trouble. */
type ByTrouble = ReadonlyMap<number, readonly Candidate[]>;

/** Takes the first agents with this trouble that `isWanted` accepts. */
function takeFirst(
  byTrouble: ByTrouble,
  trouble: keyof typeof TROUBLE,
  isWanted: (record: AgentRecord) => boolean = () => true,
): readonly Candidate[] {
  const wanted = byTrouble.get(TROUBLE[trouble])?.filter(({ record }) => isWanted(record)) ?? [];
  return takeInOrder(wanted, 'trouble', null, SHOWN_MAX).map(({ candidate }) => candidate);
}

function listAgentProblems(
  { nowMs, pushRecords, ofAgents }: ProblemSources,
  byTrouble: ByTrouble,
): readonly OverviewProblem[] {
  const failuresOf = ({ record }: Candidate): AgentFailures => ofAgents.get(record.agent_id) ?? NO_FAILURES;
  const hasVanished = (record: AgentRecord): boolean =>
    (record.offlineMs ?? 0) >= windowStartMs(nowMs) && !isDraining(record) && !record.left;
  const failing = takeFirst(byTrouble, 'failing').map((one) =>
    describeFailing(one, pushRecords.find(one.record.agent_id).failures),
  );
  const offline = [
    ...takeFirst(byTrouble, 'offlineWithTasks').map((one) => describeOffline(one, failuresOf(one))),
    ...takeFirst(byTrouble, 'offline', hasVanished).map((one) =>
      describeVanished(one, nowMs, failuresOf(one)),
    ),
  ];
  return [...failing, ...offline.slice(0, SHOWN_MAX)];
}

function describeFailing({ record, slots, contact }: Candidate, failures: number): OverviewProblem {
  const { agent_id } = record;
  const { push, unreachedSinceMs: since } = contact;
  const error = push?.error ?? 'no response';
  const times = failures > 0 ? `, ${countOf(failures, 'time')}` : '';
  const assigned =
    slots === 0 ? '' : `${countOf(slots, 'task')} ${slots === 1 ? 'is' : 'are'} assigned to it. `;
  return createProblem('push_failing', 'problem', {
    since: since === null ? null : since / 1_000,
    text: `Pushes to \`${agent_id}\` fail: ${error}${times}.`,
    help: `${assigned}${adviseOnPushError(error, 'Look at its log and its endpoint.')}`,
    agent_id,
    count: failures > 0 ? failures : null,
  });
}

const NO_FAILURES: AgentFailures = { lost: 0, failed: '' };
const FIRST_MEND = 'Mend what failed before first.';

function describeOffline(
  { record, slots, contact }: Candidate,
  { lost, failed }: AgentFailures,
): OverviewProblem {
  const { agent_id } = record;
  const stays = 'A task that it has taken stays with it until it reports or the task times out.';
  const start = 'Start it again under the same id.';
  return createProblem('agent_silent', 'problem', {
    since: contact.contactMs / 1_000,
    text: `\`${agent_id}\` is offline and has ${countOf(slots, 'task')}${lost > 0 ? `; it lost ${lost} more` : ''}.${failed}`,
    help: [stays, ...(failed ? [FIRST_MEND] : []), start].join(' '),
    agent_id,
    count: slots,
  });
}

/** Describes an agent that went offline without tasks and did not announce a stop. */
function describeVanished(
  { record: { agent_id }, contact: { contactMs } }: Candidate,
  nowMs: number,
  { lost, failed }: AgentFailures,
): OverviewProblem {
  const silence = describeSince(nowMs, contactMs);
  return createProblem('agent_silent', 'warning', {
    since: contactMs / 1_000,
    text: `\`${agent_id}\` has been silent for ${silence}: it went offline without unregistering${lost > 0 ? ` and lost ${countOf(lost, 'task')}` : ''}.${failed}`,
    help: failed
      ? `${FIRST_MEND} Then start it again.`
      : 'Look at its log, and start it again. An agent that is stopped on purpose should drain or unregister first.',
    agent_id,
    count: lost > 0 ? lost : null,
  });
}

/** Leaves out drained agents that have another trouble: they are listed under that trouble. */
function listDrained(byTrouble: ByTrouble): readonly OverviewProblem[] {
  const drained = takeFirst(byTrouble, 'draining', (record) => record.drained_by_operator === true);
  return drained.map(({ record }) => describeDrained(record.agent_id));
}

function describeDrained(agent_id: string): OverviewProblem {
  return createProblem('agent_drained', 'note', {
    text: `\`${agent_id}\` is drained by the administrator: it gets no new tasks.`,
    help: END_DRAIN,
    agent_id,
  });
}

function isNear({ count, max }: Limit): boolean {
  return count >= NEAR_LIMIT_SHARE * max;
}

function describeLimit({ what, setting, count, max }: Limit): OverviewProblem {
  return createProblem('near_limit', count >= max ? 'problem' : 'warning', {
    text: `There are ${count} ${what}; the limit is ${max}, and more are refused with 503.`,
    help: `Set ${setting} to allow more.`,
    count,
  });
}

const DEFAULT_SECRET = createProblem('default_secret', 'warning', {
  text: 'The gateway secret is the documented default. Any client that reaches this port can submit.',
  help: 'Set GATEWAY_AUTH.',
});

const PUBLIC_METRICS = createProblem('metrics_public', 'warning', {
  text: 'The page /metrics needs no secret.',
  help: 'Leave out METRICS_PUBLIC where others reach this port.',
});
