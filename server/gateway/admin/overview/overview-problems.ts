/**
 * Lists the problems of now for the overview, each with its remedy, the most urgent first. It looks only at
 * the tags and agents in need, which come first in their orders. For example, if 1,000 agents fail, it lists
 * 10.
 */
import { describeDuration } from '../../../domain/duration-text.ts';
import type { Candidate } from '../../../domain/match.ts';
import type { OverviewProblem, TagDemand } from '../../../ports/admin.ts';
import type { PushRecords } from '../../agents/push-records.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { rankTrouble, TROUBLE } from '../../agents/ranking/agent-order.ts';
import { isTagFull, isUnserved, lacksAgent } from './overview-tags.ts';

/** Problems of one kind. */
const SHOWN_MAX = 10;
/** If no task asks for a tag now, it is one of these few: the list has at most 50 problems in all. */
const UNSERVED_SHOWN_MAX = 5;
/** From this share of a limit on it is nearly reached. */
const NEAR_LIMIT_SHARE = 0.8;

/** The readings on which the problems rest. */
export type ProblemSources = {
  readonly nowMs: number;
  readonly rows: readonly TagDemand[];
  readonly agentIndex: Pick<AgentIndex, 'findSimilarTags' | 'supplies' | 'list'>;
  readonly pushRecords: Pick<PushRecords, 'find'>;
  readonly isSecretPublic: boolean;
  readonly isMetricsPublic: boolean;
  /** The limited things, with how many there are. */
  readonly limits: readonly Limit[];
};

type Limit = {
  /** As a sentence has it: `open tasks`. */
  readonly what: string;
  readonly setting: string;
  readonly count: number;
  readonly max: number;
};

/** The problem that the store does not respond. */
export function describeStoreDown(sinceMs: number, error: string): OverviewProblem {
  return createProblem('store_down', 'problem', {
    since: sinceMs / 1_000,
    text: `The store does not respond: ${error}`,
    help: 'The gateway accepts nothing until it is back. Look at the store and at the log of the gateway.',
  });
}

/** All problems but that of the store. */
export function listProblems(sources: ProblemSources): readonly OverviewProblem[] {
  const { rows, agentIndex } = sources;
  const lacking = rows.filter(lacksAgent).slice(0, SHOWN_MAX);
  const missing = lacking.filter(({ agents }) => agents === 0).map(({ tag }) => tag);
  const similar = agentIndex.findSimilarTags(missing);
  return [
    ...lacking.map((row) => describeLackingTag(sources, row, similar.get(row.tag))),
    ...listAgentProblems(sources),
    ...rows
      .filter(isTagFull)
      .slice(0, SHOWN_MAX)
      .map((row) => describeFullTag(sources, row)),
    ...rows.filter(isUnserved).slice(0, UNSERVED_SHOWN_MAX).map(describeUnservedTag),
    ...sources.limits.filter(isNear).map(describeLimit),
    ...(sources.isSecretPublic ? [DEFAULT_SECRET] : []),
    ...(sources.isMetricsPublic ? [PUBLIC_METRICS] : []),
  ];
}

function describeLackingTag(
  sources: ProblemSources,
  row: TagDemand,
  similar: string | undefined,
): OverviewProblem {
  const { tag, waiting, no_agent, agents, oldest_create_time } = row;
  const lack = agents === 0 ? 'No agent has the tag' : 'No agent that takes tasks has the tag';
  const counts = [
    ...(waiting > 0 ? [describeWaiting(sources, row)] : []),
    ...(no_agent > 0 ? [`${countOf(no_agent, 'task')} ended without an agent`] : []),
  ];
  return createProblem('tag_without_agent', 'problem', {
    since: oldest_create_time,
    text: `${lack} \`${tag}\`. ${counts.join('; ')}.`,
    help: adviseOnTag(sources, row, similar),
    tag,
    count: waiting > 0 ? waiting : no_agent,
  });
}

function describeWaiting({ nowMs }: ProblemSources, { waiting, oldest_create_time }: TagDemand): string {
  // Less than a second is shown as one.
  const waitedMs = Math.max(1_000, nowMs - (oldest_create_time ?? 0) * 1_000);
  const [verb, age] = [waiting === 1 ? 'waits' : 'wait', describeDuration(waitedMs)];
  return `${countOf(waiting, 'task')} ${verb}, ${waiting === 1 ? 'for' : 'the oldest for'} ${age}`;
}

function adviseOnTag(
  { agentIndex }: ProblemSources,
  { tag, agents }: TagDemand,
  similar: string | undefined,
): string {
  if (agents > 0)
    return `${countOf(agents, 'agent')} with it: all are draining or offline. Start another one.`;
  const supply = similar === undefined ? undefined : agentIndex.supplies.find(similar);
  if (similar === undefined || !supply) return `Start an agent with the tag \`${tag}\`.`;
  return `The nearest tag is \`${similar}\` (${countOf(supply.agents, 'agent')}).`;
}

function describeFullTag(sources: ProblemSources, row: TagDemand): OverviewProblem {
  const { tag, used, free, unusable, not_taken, waiting, oldest_create_time } = row;
  const usable = used + free - unusable;
  const isUsable = usable > 0;
  const slots = isUsable
    ? `is full: ${used - not_taken} of ${usable} usable slots`
    : 'has no usable slot: pushes to its agents fail';
  const more = unusable === 1 ? '1 more slot is' : `${unusable} more slots are`;
  const failing = isUsable && unusable > 0 ? ` ${more} unusable: pushes fail.` : '';
  return createProblem('tag_full', 'warning', {
    since: oldest_create_time,
    text: `\`${tag}\` ${slots}; ${describeWaiting(sources, row)}.${failing}`,
    help: isUsable
      ? 'Start another agent, or raise max_concurrent.'
      : 'Look at the log and the endpoint of its agents, or start another one.',
    tag,
    count: waiting,
  });
}

/** A task that asks for this tag alone would end at once, or wait. */
function describeUnservedTag({ tag, agents }: TagDemand): OverviewProblem {
  const who = agents === 1 ? 'The one agent' : `All ${agents} agents`;
  const are = agents === 1 ? 'is' : 'are';
  return createProblem('tag_without_agent', 'warning', {
    text: `${who} with the tag \`${tag}\` ${are} draining or offline. No task asks for it now.`,
    help: `Start ${agents === 1 ? 'it' : 'one of them'} again, end the draining, or start another agent with the tag.`,
    tag,
  });
}

/** The agents in trouble are the first of their order: those that fail, then those that are offline. */
function listAgentProblems({ agentIndex, pushRecords }: ProblemSources): readonly OverviewProblem[] {
  const problems: OverviewProblem[] = [];
  for (const { candidate } of agentIndex.list('trouble', null)) {
    if (problems.length === SHOWN_MAX || rankTrouble(candidate) !== TROUBLE.failing) break;
    problems.push(describeFailing(candidate, pushRecords.find(candidate.record.agent_id).failures));
  }
  const offlineMax = problems.length + SHOWN_MAX;
  for (const { candidate } of agentIndex.list('trouble', String(TROUBLE.offlineWithTasks))) {
    if (problems.length === offlineMax || rankTrouble(candidate) !== TROUBLE.offlineWithTasks) break;
    problems.push(describeOffline(candidate));
  }
  return problems;
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
    help: `${assigned}Look at its log and its endpoint.`,
    agent_id,
    count: failures > 0 ? failures : null,
  });
}

function describeOffline({ record, slots }: Candidate): OverviewProblem {
  const { agent_id, offlineMs } = record;
  return createProblem('agent_silent', 'problem', {
    since: offlineMs === null ? null : offlineMs / 1_000,
    text: `\`${agent_id}\` is offline and has ${countOf(slots, 'task')}.`,
    help: 'A task that it has taken stays with it until it reports or the task times out. Start it again under the same id.',
    agent_id,
    count: slots,
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

function createProblem(
  code: OverviewProblem['code'],
  severity: OverviewProblem['severity'],
  more: Pick<OverviewProblem, 'text'> & Partial<OverviewProblem>,
): OverviewProblem {
  return { code, severity, since: null, help: null, tag: null, agent_id: null, count: null, ...more };
}

/** `1 task`, `3 tasks` */
function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
