/**
 * A client reads the output of a task, or follows it: `readOutput`. The end is exact, because the last page
 * is read when the task is known to have settled: a settled task takes no piece, so none can follow.
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

/** Pieces of a page at most. */
const PAGE_PIECES = 1_000;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
};

/** Creates both forms of the operation. */
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
  // The number of the end is above the last piece, and nothing follows it.
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
  /** The task as the reader found it. */
  readonly first: Stored<TaskState>;
  readonly after: number;
};

/**
 * How an open task stands, then its pieces; how it stands again where that changes, behind the pieces before
 * it; then the end. A page has the revision of the task that it was read at: if the task is known as of that
 * revision, no piece from before it is missing. Else the task is read again, and perhaps the page.
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
        // It was trimmed.
        if (!state) return;
        if (page.revision === state.revision) {
          if (isSettled(state.value)) return yield describeEnd(state.value, page);
          break;
        }
        // One of both is from before the other.
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
