/** The advice on a match: why no agent gets the task, in one or two sentences. Pure. */
import {
  type Advice,
  advise,
  count,
  describeMs,
  END_DRAIN,
  listNames,
  quote,
  type Remedy,
  remedy,
} from './advice-words.ts';
import type { MatchAgent, MatchReason, MatchTag, TaskMatch } from './task-match.ts';

const WAIT_SECONDS = 600;
/** If agents share only some of the task's tags, the advice names this many tags without an agent. */
const MISSING_MAX = 2;

/**
 * The advice on a match. The task waits `waitMs` more; null: it does not wait, or this is a preview.
 * `hasWaited`: it has waited in vain. If an agent is eligible, the advice says that this agent would get the
 * task.
 */
export function adviseOnMatch(match: TaskMatch, waitMs: number | null, hasWaited = false): Advice {
  const { tags, sharing, agents_total } = match;
  const names = tags.map(({ tag }) => tag);
  if (tags.length === 0) {
    const text = 'A task without tags finds no agent: an agent qualifies by a tag that both have.';
    return advise([text, 'Submit it with a tag that an agent has.'], []);
  }
  if (agents_total === 0) {
    const text = `No agent is registered. Start one with the tag ${listOr(names)}.`;
    return advise([text, describeWait(waitMs)], startWith(names));
  }
  if (sharing.agents === 0) return adviseOnMissing(match, waitMs);
  const eligible = match.agents.find((agent) => agent.eligible);
  if (eligible) return adviseOnEligible(eligible, sharing.eligible);
  return adviseOnObstacles(match, waitMs, hasWaited);
}

function adviseOnEligible(agent: MatchAgent, free: number): Advice {
  const others = free > 1 ? ` So could ${count(free - 1, 'other agent')}.` : '';
  if (!agent.push_failing) {
    return advise([`Agent ${quote(agent.agent_id)} would get the task: it has a free slot.${others}`], []);
  }
  const text = `Agent ${quote(agent.agent_id)} would get the task, but it does not take its pushes.`;
  return advise([text, `${CHECK_ONE}.`], [remedy('check_agent', { agent_id: agent.agent_id })]);
}

const CHECK_ONE = 'Check that it runs and that the gateway can reach its endpoint';
const CHECK_FULL = 'Check that the full ones run and that the gateway can reach their endpoints';

/** For a task whose tags no agent has. */
function adviseOnMissing({ tags, agents_total }: TaskMatch, waitMs: number | null): Advice {
  const names = tags.map(({ tag }) => tag);
  const alike = tags.filter(({ similar }) => similar !== null);
  const start = startWith(names);
  const wait = describeWait(waitMs);
  if (alike.length === 0) {
    const none = `No agent has ${names.length === 1 ? 'the tag' : 'one of the tags'} ${listNames(names)}`;
    const all =
      agents_total === 1 ? 'the one registered agent has' : `the ${agents_total} registered agents have`;
    const action = `Start an agent with ${names.length === 1 ? 'it' : 'one of them'}, or submit the task with a tag that an agent has.`;
    return advise([`${none}, and ${all} no similar one.`, action, wait], start);
  }
  const [first] = alike;
  const action = `Submit the task with ${quote(first?.similar?.tag ?? '')}, or start an agent with ${quote(first?.tag ?? '')}.`;
  const others = names.length - alike.length;
  const missing = others > 0 ? `Nor has one any of ${count(others, 'other tag')} of the task.` : '';
  const use = alike.flatMap(({ similar }) => (similar ? remedy('use_tag', { tag: similar.tag }) : []));
  return advise(
    [...alike.slice(0, MISSING_MAX).map(describeMissing), missing, action, wait],
    [...use.slice(0, 3), ...start],
  );
}

function describeMissing({ tag, similar }: MatchTag): string {
  if (!similar) return `No agent has the tag ${quote(tag)}.`;
  const { agents, free } = similar;
  const freeOnes = free === 0 ? 'none of them free' : `${free} free`;
  return `No agent has the tag ${quote(tag)}; the nearest is ${quote(similar.tag)} (${count(agents, 'agent')}, ${freeOnes}).`;
}

/** For a task that shares a tag with agents, none of which is eligible. */
function adviseOnObstacles(match: TaskMatch, waitMs: number | null, hasWaited: boolean): Advice {
  const { sharing, tags } = match;
  const missing = tags.filter(({ agents, similar }) => agents === 0 && similar !== null);
  const sentences = [
    sharing.agents === 1 ? describeOne(match) : describeSeveral(match),
    sharing.agents === 1 ? '' : describeFailing(match),
    sharing.agents === 1 ? '' : describeDrained(match),
    ...missing.slice(0, MISSING_MAX).map(describeMissing),
    describeAction(match, waitMs, hasWaited),
    describeWait(waitMs),
  ];
  return advise(sentences, listRemedies(match, waitMs, missing));
}

function describeOne(match: TaskMatch): string {
  const [agent] = match.agents;
  const who = `The one agent with ${describeTags(match)}`;
  if (!agent) return `${who} gets no task now.`;
  const name = `${who} (${quote(agent.agent_id)})`;
  switch (agent.reason) {
    case 'full':
      return `${name} is full (${describeSlots([agent])})${agent.push_failing ? ' and does not take its pushes' : ''}.`;
    case 'draining':
      return `${name} is ${describeDrain(agent)}: it gets no new tasks.`;
    case 'offline':
      return `${name} is offline: its last contact was ${describeContact(match, agent)} ${match.live ? 'ago' : 'before'}.`;
    case 'refused_this_task':
      return `${name} was busy for this task, so it is offered to others for 30 s.`;
    case 'has_this_task':
      return `${name} has this task and does not take it.`;
    default:
      return `${name} gets no task now.`;
  }
}

const PARTS: readonly (readonly [MatchReason, string])[] = [
  ['full', 'full'],
  ['draining', 'draining'],
  ['offline', 'offline'],
  ['refused_this_task', 'busy for this task lately'],
  ['has_this_task', 'the one that has the task and does not take it'],
];

function describeSeveral(match: TaskMatch): string {
  const { sharing } = match;
  const parts = PARTS.map(([reason, words]) => ({
    reason,
    words,
    agents: countReason(match, reason),
  })).filter(({ agents }) => agents > 0);
  const [only] = parts;
  if (only && parts.length === 1 && only.agents === sharing.agents) {
    return `All ${sharing.agents} agents with ${describeTags(match)} are ${only.words}${describeFull(match, only.reason)}.`;
  }
  const list = parts.map(
    ({ reason, words, agents }) =>
      `${agents} ${agents === 1 ? 'is' : 'are'} ${words}${describeFull(match, reason)}`,
  );
  return `${sharing.agents} agents have ${describeTags(match)}: ${list.join(', ')}.`;
}

function describeDrain({ drained_by_operator }: MatchAgent): string {
  return drained_by_operator ? 'drained by the administrator' : 'draining';
}

function listDrained({ agents }: TaskMatch): readonly MatchAgent[] {
  return agents.filter(({ reason, drained_by_operator }) => reason === 'draining' && drained_by_operator);
}

function describeDrained(match: TaskMatch): string {
  const drained = listDrained(match);
  if (drained.length === 0) return '';
  const verb = drained.length === 1 ? 'is' : 'are';
  return `Of the draining ones ${drained.length} ${verb} drained by the administrator: ${listNames(drained.map(({ agent_id }) => agent_id))}.`;
}

/** The full agents that do not take their pushes: more slots for these agents would not help the task. */
function listFailing({ agents }: TaskMatch): readonly MatchAgent[] {
  return agents.filter(({ reason, push_failing }) => reason === 'full' && push_failing);
}

function describeFailing(match: TaskMatch): string {
  const failing = listFailing(match);
  if (failing.length === 0) return '';
  const verb = failing.length === 1 ? 'does not take its' : 'do not take their';
  return `Of the full ones ${failing.length} ${verb} pushes: ${listNames(failing.map(({ agent_id }) => agent_id))}.`;
}

function countReason({ sharing, agents }: TaskMatch, reason: MatchReason): number {
  if (reason === 'full' || reason === 'draining' || reason === 'offline') return sharing[reason];
  return agents.filter((agent) => agent.reason === reason).length;
}

/** Says how many slots the full agents have, if the match names all of these agents. */
function describeFull({ sharing, agents }: TaskMatch, reason: MatchReason): string {
  const full = agents.filter((agent) => agent.reason === 'full');
  return reason === 'full' && full.length === sharing.full ? ` (${describeSlots(full)})` : '';
}

function describeSlots(agents: readonly MatchAgent[]): string {
  const used = agents.reduce((sum, { current_load }) => sum + current_load, 0);
  const all = agents.reduce((sum, { max_concurrent }) => sum + max_concurrent, 0);
  return `${used} of ${count(all, 'slot')}`;
}

function describeContact({ time }: TaskMatch, { last_contact_time }: MatchAgent): string {
  return describeMs((time - last_contact_time) * 1_000);
}

function describeTags({ tags }: TaskMatch): string {
  const [first, ...rest] = tags.filter(({ agents }) => agents > 0);
  if (!first) return 'the tag';
  return rest.length === 0
    ? `the tag ${quote(first.tag)}`
    : `one of the tags ${listNames([first, ...rest].map(({ tag }) => tag))}`;
}

function describeAction(match: TaskMatch, waitMs: number | null, hasWaited: boolean): string {
  const { sharing } = match;
  const one = sharing.agents === 1;
  if (sharing.full > 0 && listFailing(match).length === sharing.full) {
    return `${one ? CHECK_ONE : CHECK_FULL}, or start another agent with the tag.`;
  }
  if (sharing.full > 0) {
    const raise = `Raise ${one ? 'its' : 'their'} \`max_concurrent\``;
    if (waitMs !== null) return `${raise} or start another agent with the tag to run the task sooner.`;
    const wait = `with a ${hasWaited ? 'longer ' : ''}\`queue_timeout\` (say, ${WAIT_SECONDS} seconds)`;
    return `${raise}, start another agent with the tag, or submit ${wait}, so that the task waits${hasWaited ? ' longer' : ''} for a slot.`;
  }
  if (sharing.draining === 0 && sharing.offline > 0) {
    return `Start ${one ? 'it' : 'one of them'} again, or if it runs, make sure that its heartbeats reach the gateway; or start another agent with the tag.`;
  }
  if (sharing.draining > 0 && sharing.offline === 0 && listDrained(match).length > 0) {
    return `${END_DRAIN} Or start another agent with the tag.`;
  }
  if (sharing.draining > 0 && sharing.offline === 0) {
    return 'End the draining if it is not meant: an agent ends it with a heartbeat that says `draining: false`, and when it registers again. Or start another agent with the tag.';
  }
  return 'Start another agent with the tag.';
}

function describeWait(waitMs: number | null): string {
  return waitMs === null ? '' : `The task waits for ${describeMs(waitMs)} more, then it fails.`;
}

function listRemedies(
  match: TaskMatch,
  waitMs: number | null,
  missing: readonly MatchTag[],
): readonly Remedy[] {
  const { agents, tags } = match;
  const first = (reason: MatchReason): readonly MatchAgent[] =>
    agents.filter((agent) => agent.reason === reason).slice(0, 1);
  const own = tags.find((tag) => tag.agents > 0)?.tag ?? null;
  const full = agents.filter((agent) => agent.reason === 'full' && !agent.push_failing).slice(0, 1);
  const failing = listFailing(match).slice(0, 1);
  return [
    ...missing.flatMap(({ similar }) => (similar ? remedy('use_tag', { tag: similar.tag }) : [])).slice(0, 1),
    ...(full.length > 0 && waitMs === null ? [remedy('wait', { seconds: WAIT_SECONDS })] : []),
    ...full.map(({ agent_id }) => remedy('raise_max_concurrent', { agent_id })),
    ...failing.map(({ agent_id }) => remedy('check_agent', { agent_id })),
    ...[...listDrained(match), ...first('draining')]
      .slice(0, 1)
      .map(({ agent_id }) => remedy('end_draining', { agent_id })),
    ...first('offline').map(({ agent_id }) => remedy('start_agent', { agent_id, tag: own })),
    remedy('start_agent', { tag: own }),
  ];
}

function startWith(names: readonly string[]): readonly Remedy[] {
  return names.slice(0, 1).map((tag) => remedy('start_agent', { tag }));
}

function listOr(names: readonly string[]): string {
  return names.length === 1
    ? quote(names[0] ?? '')
    : `${listNames(names.slice(0, 3))}${names.length > 3 ? ' …' : ''} (one is enough)`;
}
