/**
 * Suggests names while a person types into the field at the top: tags and types that are known here, agents
 * and tasks that the gateway finds. It shows at most three of a kind, those first that begin with the text.
 */
import type { ConsoleClient } from '../gateway/client.ts';
import type { Read } from '../gateway/polling.ts';
import { hrefOf } from '../routing/routes.ts';

/** A suggestion: what it is, its text, more about it, and where it leads. */
export type Suggestion = {
  readonly kind: 'task' | 'agent' | 'type' | 'tag';
  readonly text: string;
  readonly more: string;
  readonly href: string;
};

/** Names that are known without asking. */
type KnownNames = { readonly tags: readonly string[]; readonly types: readonly string[] };

/** What is asked of the gateway. */
export type SuggestionReads = Pick<ConsoleClient, 'readAgents' | 'readTasks'>;

const OF_A_KIND = 3;
/** The end of an id of a task; shorter ones are of too many tasks. */
const ID_END = /^[0-9a-f-]{4,36}$/i;

/** The gateway is asked when the typing pauses for this long. */
const PAUSE_MS = 150;

/** Suggests what a person may mean, and remembers the types that it has seen. */
export type Suggester = {
  /**
   * Shows what is known at once, and with what the gateway knows when the typing has paused. Rejects as a
   * call does; once the signal has fired it shows nothing more.
   */
  list(
    typed: string,
    tags: readonly string[],
    signal: AbortSignal,
    show: (found: readonly Suggestion[]) => void,
  ): Promise<void>;
};

/** Creates it over a client. */
export function createSuggester(client: SuggestionReads): Suggester {
  let types: readonly string[] = [];
  return {
    async list(typed, tags, signal, show) {
      if (signal.aborted) return;
      show(suggestNames(typed, { tags, types }));
      if (typed.trim() === '') return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (signal.aborted) return;
      if (types.length === 0) types = await readTypes(client, signal);
      const named = await findNamed(typed, client, signal);
      if (!signal.aborted) show([...named, ...suggestNames(typed, { tags, types })]);
    },
  };
}

/** The suggestions that need no call: types and tags. */
function suggestNames(typed: string, { tags, types }: KnownNames): readonly Suggestion[] {
  const text = typed.trim();
  if (text === '') return [];
  const suggest = (kind: 'type' | 'tag', names: readonly string[]): readonly Suggestion[] =>
    chooseNames(text, names).map((name) => ({
      kind,
      text: name,
      more: '',
      href: hrefOf({ page: 'tasks' }, `?${kind}=${encodeURIComponent(name)}`),
    }));
  return [...suggest('type', types), ...suggest('tag', tags)];
}

/** The first names that have the text, in any case: those that begin with it first. */
export function chooseNames(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.toLowerCase();
  const found = [...new Set(names)].filter((name) => name.toLowerCase().includes(wanted));
  const rank = (name: string): number => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).slice(0, OF_A_KIND);
}

/** The tasks whose ids end in the text, and the agents that have it in their ids. Rejects as a call does. */
export async function findNamed(
  typed: string,
  client: SuggestionReads,
  signal: AbortSignal,
): Promise<readonly Suggestion[]> {
  const text = typed.trim().replace(/^…/, '');
  if (text === '') return [];
  const read = async <Value>(one: Read<Value>): Promise<Value | null> => {
    const found = await one(null, signal);
    return found === 'unchanged' ? null : found.value;
  };
  const [tasks, agents] = await Promise.all([
    ID_END.test(text) ? read(client.readTasks({ id: text.toLowerCase(), limit: OF_A_KIND })) : null,
    read(client.readAgents({ id: text, limit: OF_A_KIND })),
  ]);
  return [
    ...(tasks?.tasks ?? []).map(
      ({ request_id, task_type, status }): Suggestion => ({
        kind: 'task',
        text: request_id,
        more: `${task_type}, ${status}`,
        href: hrefOf({ page: 'task', request_id }),
      }),
    ),
    ...(agents?.agents ?? []).map(
      ({ agent_id, state }): Suggestion => ({
        kind: 'agent',
        text: agent_id,
        more: state,
        href: hrefOf({ page: 'agent', agent_id }),
      }),
    ),
  ];
}

/** The types of the newest tasks. */
async function readTypes(client: SuggestionReads, signal: AbortSignal): Promise<readonly string[]> {
  const found = await client.readTasks({ limit: NEWEST })(null, signal);
  return found === 'unchanged' ? [] : [...new Set(found.value.tasks.map(({ task_type }) => task_type))];
}

const NEWEST = 100;
