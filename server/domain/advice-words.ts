/** The words that advice is made of: counts, names, times and remedies. */

/** Something to do that helps, such as `use_tag` with the tag; see `RemedyKind` of the contract. */
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
 * Advice on a task or a match: a hint for people (null if there is nothing to do), and remedies, which say
 * the same to programs.
 */
export type Advice = { readonly hint: string | null; readonly remedies: readonly Remedy[] };

export const NO_ADVICE: Advice = { hint: null, remedies: [] };

/**
 * How an administrator ends the drain of an agent. The text has `ID` instead of the agent's id: an agent
 * chooses its id itself, so nobody should paste that into a shell.
 */
export const END_DRAIN =
  'The administrator ends the drain with `task-gateway agent drain ID --undo`, or on the page of the agent in the console.';

/**
 * Says how a person mends pushes that fail with this error. A 401 is about the signature; for any other error
 * the advice is `otherwise`.
 */
export function adviseOnPushError(error: string | null | undefined, otherwise: string): string {
  return error?.startsWith('answered 401') ? CHECK_SIGNATURE : otherwise;
}

const CHECK_SIGNATURE =
  'Compare its push secret with `PUSH_SECRET` of the gateway, and its clock with that of the gateway: they may be 5 minutes apart. The log of an agent that is built on the kit says which it is.';

const REMEDIES_MAX = 5;
const NAMED_MAX = 3;

/** Joins the sentences, and keeps the first five remedies. */
export function advise(sentences: readonly string[], remedies: readonly Remedy[]): Advice {
  return {
    hint: sentences.filter((sentence) => sentence !== '').join(' '),
    remedies: remedies.slice(0, REMEDIES_MAX),
  };
}

export function remedy(kind: Remedy['kind'], about: Partial<Omit<Remedy, 'kind'>> = {}): Remedy {
  return { kind, tag: null, agent_id: null, seconds: null, ...about };
}

export function quote(name: string): string {
  return `\`${name}\``;
}

/** Names the first three, and says how many more there are. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).map(quote).join(', ');
  return names.length > NAMED_MAX ? `${shown} and ${names.length - NAMED_MAX} more` : shown;
}

/** For example, `1 agent` and `2 agents`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Writes a time in its natural unit: `12 s`, `5 min`, `3 h`, `4 days`. */
export function describeMs(ms: number): string {
  const seconds = Math.max(0, ms / 1_000);
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
