/**
 * `readOutput`: a client reads the output of a task, or follows it. A reader misses no piece at the end: the
 * last page is read after the task has settled, and a settled task takes no pieces.
 */
import { outcomeOf } from '../../domain/history.ts';
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Gateway, OutputItem, ReadOutput } from '../../ports/gateway.ts';
import type { OutputPage } from '../../ports/output.ts';
import type { Store, Stored } from '../../ports/store.ts';
import { taskNotFound } from '../tasks/read-task.ts';
import { awaitChange } from './await-change.ts';
import { createFollowedOutputs, type FollowedOutputs } from './followed-outputs.ts';

/** How many pieces a page has at most. */
const PAGE_PIECES = 1_000;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
};

export function createReadOutput(deps: Deps): Pick<Gateway, 'readOutput' | 'followOutput'> {
  const { store } = deps;
  const outputs = createFollowedOutputs(store);
  return {
    async readOutput(request_id, after, waitMs, signal) {
      let found = await readView(deps, request_id, after);
      const isThere = (): boolean => found.pieces.length > 0 || found.complete;
      if (waitMs === 0 || isThere()) return found;
      await awaitChange(deps, `output:${request_id}`, waitMs, signal, async () => {
        found = await readView(deps, request_id, after);
        return isThere();
      });
      return found;
    },

    async followOutput(request_id, after) {
      const state = await store.get('task', request_id);
      if (!state) throw taskNotFound();
      const { last } = after === 0 ? { last: 0 } : await store.readOutput(request_id, after, 1);
      if (after === last + 1 && isSettled(state.value)) return null;
      const reader = { request_id, first: state, after: after > last ? 0 : after };
      return (signal) => followOutput(deps, reader, outputs, signal);
    },
  };
}

async function readView(deps: Deps, request_id: string, after: number): Promise<ReadOutput> {
  const state = await deps.store.get('task', request_id);
  if (!state) throw taskNotFound();
  const { status, progress } = state.value;
  const complete = isSettled(state.value);
  const read = (from: number) => deps.store.readOutput(request_id, from, PAGE_PIECES);
  const asked = await read(after);
  // The end has a number too, one above the last piece.
  const isBeyond = after > asked.last && !(complete && after === asked.last + 1);
  const page = isBeyond ? await read(0) : asked;
  const last = lastOf(page);
  const outcome = outcomeOf(state.value);
  const { pieces, missing } = page;
  return { status, progress, outcome, pieces, last, complete: complete && last === page.last, missing };
}

/** The number behind which the next page begins. */
function lastOf({ pieces, last }: OutputPage): number {
  return pieces.at(-1)?.n ?? last;
}

type Reader = {
  readonly request_id: string;
  /** The task as it was when the reader began. */
  readonly first: Stored<TaskState>;
  readonly after: number;
};

/**
 * Yields the status of an open task, then its pieces. A new status comes behind the pieces before it; the end
 * comes last. A page says at which revision of the task it was read. If this is the revision of the known
 * state, no earlier piece is missing; else the state is read again, and perhaps the page.
 */
async function* followOutput(
  deps: Deps,
  { request_id, first, after }: Reader,
  { pages, states, follow }: FollowedOutputs,
  signal: AbortSignal,
): AsyncGenerator<OutputItem> {
  let state: Stored<TaskState> | undefined = first;
  let at = after;
  let shown = '';
  if (!isSettled(state.value)) {
    yield describeStatus(state.value);
    shown = nameStatus(state.value);
  }
  const changes = follow(request_id, signal);
  try {
    do {
      for (;;) {
        const page = await pages.read(`${at} ${request_id}`, () =>
          deps.store.readOutput(request_id, at, PAGE_PIECES),
        );
        if (page.pieces.length > 0) yield { pieces: page.pieces };
        at = lastOf(page);
        if (at < page.last) continue;
        if (page.revision !== state.revision) {
          state = await states.read(request_id, () => deps.store.get('task', request_id));
        }
        // The task was trimmed.
        if (!state) return;
        if (page.revision === state.revision) {
          if (isSettled(state.value)) return yield describeEnd(state.value, page);
          break;
        }
        // Either the page or the state is too old, so both are read again.
        pages.forget();
        states.forget();
      }
      if (nameStatus(state.value) === shown) continue;
      yield describeStatus(state.value);
      shown = nameStatus(state.value);
    } while (await changes.next());
  } finally {
    changes.close();
  }
}

function describeStatus({ status, progress }: TaskState): OutputItem {
  return { status, progress };
}

function nameStatus({ status, progress }: TaskState): string {
  return `${status} ${progress}`;
}

function describeEnd(state: TaskState, { last, missing }: OutputPage): OutputItem {
  const status = state.status === 'success' ? 'success' : 'failed';
  return { n: last + 1, status, outcome: outcomeOf(state) ?? status, missing };
}
