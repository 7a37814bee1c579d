/**
 * Finds tasks by their whole id or by its end. The end of an id that this gateway made says when it was made,
 * to within a few windows of time (`domain/task-id.ts`). So only ids of these windows are compared, and no
 * task is read.
 */
import { yieldToEventLoop } from '../../../async/waiting.ts';
import { windowsOf } from '../../../domain/task-id.ts';
import { GatewayError } from '../../../ports/gateway.ts';
import type { Page, Store } from '../../../ports/store.ts';

/** How many ids one call compares: more than 10,000 tasks a second make in a window of 16 s. */
const COMPARED_MAX = 200_000;
const SLICE = 1_000;

/** A task in a listing. The listing continues behind `position`. */
export type ListedTask = { readonly request_id: string; readonly position: string };

type Deps = {
  readonly store: Pick<Store, 'get' | 'list' | 'nowMs'>;
  readonly keepTasksMs: number;
};

/**
 * Finds the tasks whose id is `end` or ends with it. Their positions cannot be used as cursors. Throws
 * `validation_failed` if there are too many ids to compare, because the wanted task could be among the rest.
 */
export async function findTaskIds(deps: Deps, end: string): Promise<readonly ListedTask[]> {
  const { store } = deps;
  if (await store.get('task', end)) return [{ request_id: end, position: end }];
  const found: ListedTask[] = [];
  let left = COMPARED_MAX;
  for (const window of windowsOf(end, store.nowMs(), deps.keepTasksMs)) {
    let after: string | null = null;
    do {
      const page: Page<ListedTask> = await store.list('tasks', window, {
        limit: SLICE,
        ...(after !== null && { after }),
      });
      found.push(...page.items.filter(({ request_id }) => request_id.endsWith(end)));
      left -= page.items.length;
      after = page.next;
      // Pages may come from memory, so without this pause the loop would keep out other work.
      await yieldToEventLoop();
      if (left < 0) throw tooMany();
    } while (after !== null);
  }
  return found;
}

function tooMany(): GatewayError {
  return new GatewayError(
    'validation_failed',
    `must be the whole id: more than ${COMPARED_MAX} tasks were submitted about when a task with this end of an id was`,
    '/id',
  );
}
