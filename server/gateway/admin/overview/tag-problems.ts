/**
 * The problems of tags: a tag without an agent that takes tasks, and a tag whose agents are full. Tags that
 * the same tasks ask for make one problem.
 *
 *   problem   tasks wait for the tag; or tasks failed for want of an agent, the last one at most two minutes
 *             ago: one such task suffices if agents have the tag, two are needed if none does
 *   warning   its agents are full while tasks wait; or all are draining or offline, and no task asks for it
 *   note      no agent has it, tasks that asked for it failed, and none waits: often a misspelt tag
 */
import type { ActivityStep } from '../../../domain/activity.ts';
import type { OverviewProblem, TagDemand } from '../../../ports/admin.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { isTagFull, isUnserved, lacksAgent } from './overview-tags.ts';
import { countOf, createProblem, describeSince } from './problem-words.ts';

/** How many problems of one kind are shown. */
const SHOWN_MAX = 10;
/** How many of the tags are shown that no task asks for. */
const UNSERVED_SHOWN_MAX = 5;
const KEEPS_FAILING_MIN = 2;
const KEEPS_FAILING_MS = 2 * 60_000;

/** A task that ended without an agent. `tags` are its tags that no agent had. */
export type UnmatchedTask = {
  readonly request_id: string;
  readonly endedMs: number;
  readonly tags: readonly string[];
};

export type TagProblemSources = {
  readonly nowMs: number;
  readonly rows: readonly TagDemand[];
  readonly steps: readonly ActivityStep[];
  /** The last tasks that ended without an agent, and not necessarily all of them. */
  readonly unmatched: readonly UnmatchedTask[];
  readonly agentIndex: Pick<AgentIndex, 'findSimilarTags' | 'findTag'>;
};

/** Lists the problems of tags by kind; within a kind, by need. */
export function listTagProblems(sources: TagProblemSources): readonly OverviewProblem[] {
  const { rows, agentIndex } = sources;
  const lacking = rows.filter(lacksAgent);
  const missing = lacking.filter(({ agents }) => agents === 0).map(({ tag }) => tag);
  const similar = agentIndex.findSimilarTags(missing.slice(0, SHOWN_MAX));
  const together = Map.groupBy(lacking, (row) => nameTasks(sources, row));
  return [
    ...[...together.values()].slice(0, SHOWN_MAX).map((some) => describeLacking(sources, some, similar)),
    ...rows
      .filter(isTagFull)
      .slice(0, SHOWN_MAX)
      .map((row) => describeFull(sources, row)),
    ...rows.filter(isUnserved).slice(0, UNSERVED_SHOWN_MAX).map(describeUnserved),
  ];
}

/**
 * Returns a name for the set of tasks that ask for a tag: tags with equal names become one line. Two tags get
 * the same name if as many tasks wait for each, the oldest since the same millisecond, and if the same tasks
 * ended without an agent.
 */
function nameTasks({ unmatched }: TagProblemSources, row: TagDemand): string {
  const { tag, waiting, no_agent, oldest_create_time, agents } = row;
  const asked = unmatched.filter(({ tags }) => tags.includes(tag));
  const isKnown = asked.length === no_agent;
  const ids = isKnown ? asked.map(({ request_id }) => request_id).join() : tag;
  return `${agents > 0 ? tag : ''} ${waiting} ${oldest_create_time} ${no_agent === 0 ? '' : ids}`;
}

function describeLacking(
  sources: TagProblemSources,
  rows: readonly TagDemand[],
  similar: ReadonlyMap<string, string>,
): OverviewProblem {
  const [row] = rows as readonly [TagDemand, ...TagDemand[]];
  const { tag, waiting, no_agent, agents, oldest_create_time } = row;
  const lastMs = no_agent > 0 ? findLastMs(sources, tag) : 0;
  const lack = agents === 0 ? 'No agent has' : 'No agent that takes tasks has';
  const counts = [
    ...(waiting > 0 ? [describeWaiting(sources, row)] : []),
    ...(no_agent > 0 ? [describeUnmatched(sources, no_agent, lastMs)] : []),
  ];
  return createProblem('tag_without_agent', classify(row, sources.nowMs - lastMs), {
    since: waiting > 0 ? oldest_create_time : lastMs / 1_000,
    text: `${lack} ${nameTags(rows.map((one) => one.tag))}. ${counts.join('; ')}.`,
    help: rows.length === 1 ? advise(sources, row, similar.get(tag)) : adviseOnSeveral(rows, similar),
    tag,
    count: waiting > 0 ? waiting : no_agent,
  });
}

/** Chooses the severity. `agoMs` is how long ago the last task ended without an agent. */
function classify({ waiting, no_agent, agents }: TagDemand, agoMs: number): OverviewProblem['severity'] {
  const failsNow = agoMs <= KEEPS_FAILING_MS && (no_agent >= KEEPS_FAILING_MIN || agents > 0);
  if (waiting > 0 || failsNow) return 'problem';
  return agents > 0 ? 'warning' : 'note';
}

/** For example, ``the tag `a` `` or ``any of the tags `a`, `b` ``. */
function nameTags(tags: readonly string[]): string {
  const names = tags.map((tag) => `\`${tag}\``);
  const shown = names.slice(0, SHOWN_MAX).join(', ');
  const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : '';
  return names.length === 1 ? `the tag ${shown}` : `any of the tags ${shown}${more}`;
}

/**
 * When the last task ended without an agent for the tag. If that task was not read, the time is exact to 30
 * s.
 */
function findLastMs({ unmatched, steps, nowMs }: TagProblemSources, tag: string): number {
  const known = unmatched.find(({ tags }) => tags.includes(tag))?.endedMs;
  return known ?? steps.findLast(({ noAgent }) => noAgent.has(tag))?.atMs ?? nowMs;
}

function describeUnmatched({ nowMs }: TagProblemSources, count: number, lastMs: number): string {
  const last = count === 1 ? '' : 'the last ';
  return `${countOf(count, 'task')} ended without an agent, ${last}${describeSince(nowMs, lastMs)} ago`;
}

function describeWaiting(
  { nowMs }: Pick<TagProblemSources, 'nowMs'>,
  { waiting, oldest_create_time }: TagDemand,
): string {
  const [verb, age] = [
    waiting === 1 ? 'waits' : 'wait',
    describeSince(nowMs, (oldest_create_time ?? 0) * 1_000),
  ];
  return `${countOf(waiting, 'task')} ${verb}, ${waiting === 1 ? 'for' : 'the oldest for'} ${age}`;
}

function advise(
  { agentIndex }: Pick<TagProblemSources, 'agentIndex'>,
  { tag, agents }: TagDemand,
  similar: string | undefined,
): string {
  if (agents > 0)
    return `${countOf(agents, 'agent')} with it: all are draining or offline. Start another one.`;
  const supply = similar === undefined ? undefined : agentIndex.findTag(similar)?.counts;
  if (similar === undefined || !supply) return `Start an agent with the tag \`${tag}\`.`;
  return `The nearest tag is \`${similar}\` (${countOf(supply.agents, 'agent')}).`;
}

function adviseOnSeveral(rows: readonly TagDemand[], similar: ReadonlyMap<string, string>): string {
  const near = rows.flatMap(({ tag }) => {
    const one = similar.get(tag);
    return one === undefined ? [] : [`\`${one}\` for \`${tag}\``];
  });
  if (near.length === 0) return 'Start an agent with one of them.';
  return `The nearest ${near.length === 1 ? 'tag is' : 'tags are'} ${near.join(', ')}.`;
}

function describeFull(sources: TagProblemSources, row: TagDemand): OverviewProblem {
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

/** Describes a tag that no task asks for now and no eligible agent has. */
function describeUnserved({ tag, agents }: TagDemand): OverviewProblem {
  const who = agents === 1 ? 'The one agent' : `All ${agents} agents`;
  const are = agents === 1 ? 'is' : 'are';
  return createProblem('tag_without_agent', 'warning', {
    text: `${who} with the tag \`${tag}\` ${are} draining or offline. No task asks for it now.`,
    help: `Start ${agents === 1 ? 'it' : 'one of them'} again, end the draining, or start another agent with the tag.`,
    tag,
  });
}
