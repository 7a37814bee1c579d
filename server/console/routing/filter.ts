/**
 * Filters as tokens `key=value`: read from the address and written to it, typed by a person, and turned into
 * the query of a listing. Pure.
 *
 *   in the address   `?status=pending,failed&tag=gpu&since=1h`: a comma separates values; any may match
 *   combined         all keys must match; a key has one token
 *   typed            `tag=gpu`; bare text is an `id` if it looks like one, otherwise a `session`
 */

/** One filter. `value` may hold several values, separated by commas, if the key allows that. */
export type Token = { readonly key: string; readonly value: string };
/** The keys of a page, and the keys whose value is a list. */
export type FilterKeys = { readonly all: readonly string[]; readonly lists: readonly string[] };
/** A token that was typed, or what is wrong with the text. */
export type Typed =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'fault'; readonly text: string }
  | { readonly kind: 'nothing' };

export const STATUSES = ['pending', 'running', 'success', 'failed'] as const;
export const OUTCOMES = ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;
export const TASK_KEYS: FilterKeys = {
  all: 'waiting waiting_for_answer status outcome tag type session agent id since ended error'.split(' '),
  lists: ['status', 'outcome'],
};
/** The fewest characters of an id's end that find a task. */
const ID_MIN = 8;
const ID = /^[0-9a-f-]{8,}$/i;
const SINCE = /^(\d{1,4})(s|m|h|d)$/;
/** The step of the overview's window, in seconds. */
const OVERVIEW_STEP = 30;
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Reads the tokens of an address. Unknown keys and empty values are left out. */
export function readTokens(search: string, keys: FilterKeys): readonly Token[] {
  const tokens = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(search)) {
    if (value !== '' && keys.all.includes(key) && !tokens.has(key)) tokens.set(key, value);
  }
  return [...tokens].map(([key, value]) => ({ key, value }));
}

/** Writes tokens as the query of an address, with its `?`; empty if there are none. */
export function writeTokens(
  tokens: readonly Token[],
  keys: FilterKeys,
  cursor: string | null = null,
): string {
  const write = ({ key, value }: Token): string =>
    `${key}=${keys.lists.includes(key) ? value.split(',').map(encodeURIComponent).join(',') : encodeURIComponent(value)}`;
  const parts = [...tokens.map(write), ...(cursor === null ? [] : [`cursor=${encodeURIComponent(cursor)}`])];
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

export function readTyped(text: string, keys: FilterKeys): Typed {
  const typed = text.trim();
  if (typed === '') return { kind: 'nothing' };
  const [, key, value] = /^([a-z_]+)=(.*)$/s.exec(typed) ?? [];
  if (key !== undefined && value !== undefined && keys.all.includes(key))
    return readToken({ key, value }, keys);
  const bare = typed.replace(/^…/, '');
  if (ID.test(bare) && keys.all.includes('id'))
    return readToken({ key: 'id', value: bare.toLowerCase() }, keys);
  const fallback = keys.all.includes('session') ? 'session' : keys.all.includes('id') ? 'id' : keys.all[0];
  return readToken({ key: fallback ?? 'id', value: typed }, keys);
}

function readToken(token: Token, keys: FilterKeys): Typed {
  const { key, value } = token;
  const fault = (text: string): Typed => ({ kind: 'fault', text });
  if (value === '') return fault(`Write a value behind ${key}=.`);
  const unknown = (list: readonly string[]) => value.split(',').find((one) => !list.includes(one));
  const isOfTasks = key === 'status' || key === 'outcome';
  if (isOfTasks) {
    const list = key === 'status' ? STATUSES : OUTCOMES;
    const wrong = unknown(list);
    if (wrong === 'waiting') return fault('Write waiting=true or waiting=false.');
    if (wrong !== undefined) return fault(`${key}= is any of ${list.join(', ')}; it has no “${wrong}”.`);
  }
  if (isWait(key) && value !== 'true' && value !== 'false') return fault(`${key}= is true or false.`);
  if ((key === 'since' || key === 'ended') && !SINCE.test(value))
    return fault(`${key}= is a time such as 15m, 1h or 2d.`);
  if (key === 'id' && value.length < ID_MIN && keys.lists.includes('outcome')) {
    return fault(`An id is found whole, or by its last ${ID_MIN} characters or more.`);
  }
  return { kind: 'token', token };
}

/** Whether the filter asks for tasks that wait for an agent or for an answer. */
function isWait(key: string): boolean {
  return key.startsWith('waiting');
}

/** Adds a token; it replaces the token with the same key. */
export function addToken(tokens: readonly Token[], token: Token): readonly Token[] {
  if (!tokens.some(({ key }) => key === token.key)) return [...tokens, token];
  return tokens.map((one) => (one.key === token.key ? token : one));
}

export function removeToken(tokens: readonly Token[], key: string): readonly Token[] {
  return tokens.filter((token) => token.key !== key);
}

/** The value of a key; null if it has no token. */
export function readValue(tokens: readonly Token[], key: string): string | null {
  return tokens.find((token) => token.key === key)?.value ?? null;
}

/** The parameters of a filter, for the listing and for the counts. */
export type TaskFilterQuery = {
  readonly waiting?: boolean;
  readonly waiting_for_answer?: boolean;
  readonly status?: readonly string[];
  readonly outcome?: readonly string[];
  readonly tag?: string;
  readonly type?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly id?: string;
  readonly created_after?: number;
  readonly ended_after?: number;
  readonly error?: string;
};

/**
 * Builds the query of tokens. `since` counts from `nowSeconds`, in steps of a sixtieth of it, so that reads
 * after one another ask for the same. `ended` counts in steps of the overview, so that both count the same
 * tasks.
 */
export function buildTaskQuery(tokens: readonly Token[], nowSeconds: number): TaskFilterQuery {
  const query: Record<string, string | number | boolean | readonly string[]> = {};
  for (const { key, value } of tokens) {
    if (key === 'since') {
      const seconds = readSince(value);
      if (seconds !== null) {
        const step = Math.max(Math.floor(seconds / 60), 1);
        query.created_after = Math.floor((nowSeconds - seconds) / step) * step;
      }
    } else if (key === 'ended') {
      const seconds = readSince(value);
      const stepStart = Math.floor(nowSeconds / OVERVIEW_STEP) * OVERVIEW_STEP;
      if (seconds !== null) query.ended_after = Math.max(0, stepStart + OVERVIEW_STEP - seconds);
    } else if (isWait(key)) query[key] = value === 'true';
    else if (TASK_KEYS.lists.includes(key)) query[key] = value.split(',');
    else if (TASK_KEYS.all.includes(key)) query[key] = value;
  }
  return query;
}

/** The seconds of `15m`; null if the text has another form. */
export function readSince(value: string): number | null {
  const [, count, unit] = SINCE.exec(value) ?? [];
  if (count === undefined || unit === undefined) return null;
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

/** Explains which filter of the address the gateway would refuse; null if it accepts all of them. */
export function findFault(tokens: readonly Token[], keys: FilterKeys): string | null {
  for (const token of tokens) {
    const checked = readToken(token, keys);
    if (checked.kind === 'fault') return checked.text;
  }
  return null;
}
