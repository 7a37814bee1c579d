/**
 * One pass of the dispatch loop: takes due entries and does what each needs. No failure stops other entries:
 *
 *   the agents cannot be read      tasks are assigned by the older copy, and its index logs the failure.
 *                                  Deadlines and expiries need no agents
 *   one entry fails                it is logged once by its ref, and looked at again after pauses that grow
 *                                  to an hour, because damage does not heal. The other entries go on
 *   the store is out               every entry is tried, then the pass throws; all of them come due again
 */
import { type BoundedMap, createBoundedMap } from '../../async/bounded-map.ts';
import { GatewayError } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import { type Lease, type Ref, type Store, StoreUnavailable } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { SweepTimes } from './sweep-times.ts';
import type { Sweeper } from './sweeper.ts';

type Deps = {
  readonly store: Store;
  readonly log: Log;
  readonly commits: TaskCommits;
  readonly agentIndex: AgentIndex;
  readonly dispatcher: Dispatcher;
  readonly sweeper: Sweeper;
  readonly sweepTimes: SweepTimes;
};

/** How many due entries one pass takes. */
const DUE_PER_TURN = 100;
/** The first pause after a failure of an entry. It doubles with each further failure. */
const FAILED_RETRY_MS = 30_000;
/** The longest pause. */
const FAILED_RETRY_MAX_MS = 3_600_000;
/** How many failed entries are remembered. A forgotten entry that fails again counts as new. */
const FAILED_MAX = 1_000;

/** How often each entry has failed in a row. */
type Failures = BoundedMap<Ref, number>;

/** Creates the function that runs a pass and returns how many entries it took. */
export function createDuePass(deps: Deps): () => Promise<number> {
  const { store, agentIndex, sweepTimes } = deps;
  const failures: Failures = createBoundedMap(FAILED_MAX);

  return async () => {
    const due = await store.takeDue(DUE_PER_TURN);
    // Noted only after the store has answered: during an outage no agent can be contacted.
    sweepTimes.note(store.nowMs());
    if (due.length === 0) return 0;
    agentIndex.refresh().catch(() => undefined);
    const looks = await Promise.allSettled(
      due.map(({ ref, lease }) => lookOrPostpone(deps, failures, ref, lease)),
    );
    await agentIndex.whenRefreshed();
    const failed = looks.find((look) => look.status === 'rejected');
    if (failed) throw failed.reason;
    return due.length;
  };
}

/** Throws only what the store throws. */
async function lookOrPostpone(deps: Deps, failures: Failures, ref: Ref, lease: Lease): Promise<void> {
  const { store, commits, dispatcher, sweeper, log } = deps;
  const id = ref.slice(ref.indexOf(':') + 1);
  try {
    await (ref.startsWith('task:') ? dispatcher.lookAtTask(id, lease) : sweeper.lookAtAgent(id, lease));
    failures.delete(ref);
  } catch (error) {
    // There were too many conflicts: the entry comes due again when its lease runs out.
    if (error instanceof GatewayError) return;
    if (error instanceof StoreUnavailable) throw error;
    const times = countFailure(failures, ref);
    const againMs = Math.min(FAILED_RETRY_MAX_MS, FAILED_RETRY_MS * 2 ** (times - 1));
    const again = `in ${againMs / 1_000} s, then less and less often, up to once an hour`;
    if (times === 1) log.error({ ref, err: error }, `what is due failed; it is looked at again ${again}`);
    await commits.reschedule([{ ref, atMs: store.nowMs() + againMs, lease }]);
  }
}

function countFailure(failures: Failures, ref: Ref): number {
  const times = (failures.get(ref) ?? 0) + 1;
  failures.set(ref, times);
  return times;
}
