/** The words that advice is made of: counts, names, times and remedies. */

/** A step that helps, such as `use_tag` with the tag; see `RemedyKind` of the contract. */
export type Remedy = {
  readonly kind:
    | 'use_tag'
    | 'wait'
    | 'raise_max_concurrent'
    | 'start_agent'
    | 'end_draining'
    | 'check_agent'
    | 'raise_timeout'
    | 'submit_again'
    | 'answer';
  readonly tag: string | null;
  readonly agent_id: string | null;
  readonly seconds: number | null;
};

/**
 * Advice on a task or a match: the hint says it in words (null if there is nothing to do), the remedies say
 * it to programs.
 */
export type Advice = { readonly hint: string | null; readonly remedies: readonly Remedy[] };

/** Nothing need be done. */
export const NO_ADVICE: Advice = { hint: null, remedies: [] };

/**
 * How an administrator ends the drain of an agent. The command has no id, because a person would paste into a
 * shell what an agent calls itself.
 */
export const END_DRAIN =
  'The administrator ends the drain with `task-gateway agent drain ID --undo`, or on the page of the agent in the console.';

/** How a person mends pushes that fail with this error: a 401 is about their signature. Else as given. */
export function adviseOnPushError(error: string | null | undefined, otherwise: string): string {
  return error?.startsWith('answered 401') ? CHECK_SIGNATURE : otherwise;
}

const CHECK_SIGNATURE =
  'Compare its push secret with `PUSH_SECRET` of the gateway, and its clock with that of the gateway: they may be 5 minutes apart. The log of an agent that is built on the kit says which it is.';

const REMEDIES_MAX = 5;
const NAMED_MAX = 3;

/** Joins sentences and remedies, of which it takes the first five. */
export function advise(sentences: readonly string[], remedies: readonly Remedy[]): Advice {
  return {
    hint: sentences.filter((sentence) => sentence !== '').join(' '),
    remedies: remedies.slice(0, REMEDIES_MAX),
  };
}

/** A remedy with what it is about. */
export function remedy(kind: Remedy['kind'], about: Partial<Omit<Remedy, 'kind'>> = {}): Remedy {
  return { kind, tag: null, agent_id: null, seconds: null, ...about };
}

/** A name as code. */
export function quote(name: string): string {
  return `\`${name}\``;
}

/** The first names, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).map(quote).join(', ');
  return names.length > NAMED_MAX ? `${shown} and ${names.length - NAMED_MAX} more` : shown;
}

/** `1 agent`, `2 agents`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A time in its natural unit: `12 s`, `5 min`, `3 h`, `4 days`. */
export function describeMs(ms: number): string {
  const seconds = Math.max(0, ms / 1_000);
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
