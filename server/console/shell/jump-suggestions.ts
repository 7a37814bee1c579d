/**
 * Suggests names while a person types into the field at the top. Tags and types are known here; the gateway
 * finds agents and tasks. At most three of a kind are shown. Names that begin with the text come first.
 */
import type { ConsoleClient } from '../gateway/client.ts';
import type { Read } from '../gateway/polling.ts';
import { hrefOf } from '../routing/routes.ts';

/** A suggestion: its kind, its text, more about it, and its link. */
export type Suggestion = {
  readonly kind: 'task' | 'agent' | 'type' | 'tag';
  readonly text: string;
  readonly more: string;
  readonly href: string;
};

/** Names that are known without asking. */
type KnownNames = { readonly tags: readonly string[]; readonly types: readonly string[] };

/** The reads of the gateway that suggestions need. */
export type SuggestionReads = Pick<ConsoleClient, 'readAgents' | 'readTasks'>;

const OF_A_KIND = 3;
/** The form of the end of a task's id. Shorter ends would match too many tasks. */
const ID_END = /^[0-9a-f-]{4,36}$/i;

/** The gateway is asked when the typing pauses for this long. */
const PAUSE_MS = 150;

/** Suggests what a person may mean, and remembers the types it has seen. */
export type Suggester = {
  /**
   * Shows known names at once, and the gateway's names after a pause in the typing. Rejects as a call does.
   * Shows nothing more once the signal has fired.
   */
  list(
    typed: string,
    tags: readonly string[],
    signal: AbortSignal,
    show: (found: readonly Suggestion[]) => void,
  ): Promise<void>;
};

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

/** Suggests types and tags, which needs no call. */
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

/** Chooses the first names that contain the text, in any case. Names that begin with it come first. */
export function chooseNames(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.toLowerCase();
  const found = [...new Set(names)].filter((name) => name.toLowerCase().includes(wanted));
  const rank = (name: string): number => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).slice(0, OF_A_KIND);
}

/** Finds tasks whose id ends with the text, and agents whose id contains it. Rejects as a call does. */
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

/** Reads the types of the newest tasks. */
async function readTypes(client: SuggestionReads, signal: AbortSignal): Promise<readonly string[]> {
  const found = await client.readTasks({ limit: NEWEST })(null, signal);
  return found === 'unchanged' ? [] : [...new Set(found.value.tasks.map(({ task_type }) => task_type))];
}

const NEWEST = 100;
