/**
 * Puts an explanation into the words of the page: the verdict on each agent, its remedy, and the page that
 * the remedy's button opens. Pure.
 */
import type { IconName } from '../../parts/icon.tsx';

/** The fields of a match's agent that this page reads. */
export type VerdictAgent = {
  readonly agent_id: string;
  readonly shared_tags: readonly string[];
  readonly reason: string;
  readonly push_failing: boolean;
  readonly drained_by_operator?: boolean;
};
export type Verdict = { readonly icon: IconName; readonly class: string; readonly word: string };

const VERDICTS: ReadonlyMap<string, Verdict> = new Map<string, Verdict>([
  ['eligible', { icon: 'check', class: 't-ok', word: 'Eligible' }],
  ['no_shared_tag', { icon: 'none', class: 'faint', word: 'No shared tag' }],
  ['full', { icon: 'full', class: 't-wait', word: 'Full' }],
  ['draining', { icon: 'draining', class: 't-wait', word: 'Draining' }],
  ['offline', { icon: 'offline', class: 'muted', word: 'Offline' }],
  ['refused_this_task', { icon: 'refused', class: 't-bad', word: 'Refused this task' }],
  ['has_this_task', { icon: 'processing', class: 't-run', word: 'Has this task' }],
]);

/** Describes a verdict by a shape, a word and a colour. An unknown verdict is shown as received. */
export function describeVerdict(reason: string): Verdict {
  return VERDICTS.get(reason) ?? { icon: 'dot', class: 'muted', word: reason };
}

/** The verdicts, from the best chance of getting the task to the worst. */
const RANKED: readonly string[] = [
  ...['has_this_task', 'eligible', 'refused_this_task', 'full', 'draining', 'offline', 'no_shared_tag'],
];

/** Sorts agents by verdict, then by shared tags, then by id. So a change of load or contact moves no row. */
export function sortVerdicts<Agent extends VerdictAgent>(agents: readonly Agent[]): readonly Agent[] {
  const rankOf = ({ reason }: Agent): number => {
    const rank = RANKED.indexOf(reason);
    return rank < 0 ? RANKED.length : rank;
  };
  return agents.toSorted(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      b.shared_tags.length - a.shared_tags.length ||
      (a.agent_id < b.agent_id ? -1 : 1),
  );
}

/** Names the change that would make an agent take the task. */
export function describeHelp({ reason, push_failing, drained_by_operator }: VerdictAgent): string {
  if (reason === 'eligible') {
    return push_failing ? 'Pushes to it fail: look at its log and endpoint' : 'It would get the task';
  }
  if (reason === 'full') return 'A longer queue_timeout, or a higher max_concurrent';
  if (reason === 'draining') {
    return drained_by_operator ? 'Drained by the administrator: end that on its page' : 'End its draining';
  }
  if (reason === 'offline') return 'Start it again';
  if (reason === 'refused_this_task') return 'It was busy; it is asked again within 30 s';
  if (reason === 'has_this_task') return 'The task waits for another agent';
  return reason === 'no_shared_tag' ? 'Give it one of the task’s tags' : '';
}

/** One thing that helps, as the contract defines it. */
export type Remedy = {
  readonly kind: string;
  readonly tag: string | null;
  readonly agent_id: string | null;
  readonly seconds: number | null;
};
/** A tag that was asked for, and the most similar tag that agents have. */
export type AskedTag = { readonly tag: string; readonly similar: { readonly tag: string } | null };
/** A button: its words (names in backquotes), and the form or the agent it leads to. */
export type RemedyButton = {
  readonly text: string;
  readonly leadsTo:
    | {
        readonly page: 'submit';
        readonly tags?: readonly string[];
        readonly field?: readonly [string, number];
      }
    | { readonly page: 'agent'; readonly agent_id: string };
};

/**
 * Lists the buttons of remedies. Remedies for which no page helps are left out. `taskTags` are the task's
 * tags, `asked` is what the match says about them.
 */
export function listRemedyButtons(
  remedies: readonly Remedy[],
  taskTags: readonly string[],
  asked: readonly AskedTag[],
  describeSeconds: (seconds: number) => string,
): readonly RemedyButton[] {
  return remedies.flatMap((remedy): readonly RemedyButton[] => {
    const { kind, tag, agent_id, seconds } = remedy;
    if (kind === 'use_tag' && tag !== null) {
      const tags = replaceTag(taskTags, asked, tag);
      return [{ text: `Submit again with \`${tag}\`…`, leadsTo: { page: 'submit', tags } }];
    }
    if (kind === 'wait' && seconds !== null) {
      const field = ['queue_timeout', seconds] as const;
      return [
        { text: `Submit again, wait ${describeSeconds(seconds)}…`, leadsTo: { page: 'submit', field } },
      ];
    }
    if (kind === 'raise_timeout') {
      const field = seconds === null ? {} : { field: ['timeout', seconds] as const };
      return [{ text: 'Submit again with a longer timeout…', leadsTo: { page: 'submit', ...field } }];
    }
    if (kind === 'submit_again') return [{ text: 'Submit again…', leadsTo: { page: 'submit' } }];
    if (agent_id === null) return [];
    const words: Readonly<Record<string, string>> = {
      raise_max_concurrent: 'Look at the slots of',
      end_draining: 'Look at',
      start_agent: 'Look at',
      check_agent: 'Look at the pushes of',
    };
    return [{ text: `${words[kind] ?? 'Look at'} \`${agent_id}\``, leadsTo: { page: 'agent', agent_id } }];
  });
}

/** Replaces the tag that is similar to `tag`; if there is none, adds `tag`. */
function replaceTag(taskTags: readonly string[], asked: readonly AskedTag[], tag: string): readonly string[] {
  const missing = asked.find(({ similar }) => similar?.tag === tag)?.tag;
  const replaced = taskTags.map((one) => (one === missing ? tag : one));
  return [...new Set(replaced.includes(tag) ? replaced : [...replaced, tag])];
}

/** Writes the query of the form that submits a task again, with the changes of a button. */
export function writeFormQuery(
  request_id: string,
  {
    tags = [],
    field,
  }: { readonly tags?: readonly string[]; readonly field?: readonly [string, number] } = {},
): string {
  const query = new URLSearchParams({ from: request_id });
  for (const tag of tags) query.append('tag', tag);
  if (field) query.set(field[0], String(field[1]));
  return `?${query}`;
}

/** Counts agents that a match does not list: `sharing` share a tag, `others` share none. */
export function countUnlisted(match: {
  readonly agents_total: number;
  readonly sharing: { readonly agents: number };
  readonly agents: readonly VerdictAgent[];
}): { readonly sharing: number; readonly others: number } {
  const listedSharing = match.agents.filter(({ shared_tags }) => shared_tags.length > 0).length;
  const sharing = Math.max(match.sharing.agents - listedSharing, 0);
  const listedOthers = match.agents.length - listedSharing;
  const others = Math.max(match.agents_total - match.sharing.agents - listedOthers, 0);
  return { sharing, others };
}
