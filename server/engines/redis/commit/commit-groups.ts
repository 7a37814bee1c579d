/**
 * Sends commits in groups. The commits of one tick of the event loop travel as one script, which checks and
 * applies each by itself. So one round trip, one write to the disk and one notification serve many commits.
 *
 *   run() --> waiting --(end of the tick, fewer than two groups under way)--> a group under way --> results
 *
 * Commits that only append to output also wait until `outputEveryMs` after the last group was sent, because
 * their callers will write more soon. Any other commit that joins ends that wait.
 *
 * Promises
 * - A commit resolves with its result, or rejects as its group does. A group whose reply is lost is sent
 *   again, and the script recognises applied commits by their revisions.
 * - The reply notifies listeners of this process, before the commits resolve. The script publishes a
 *   message for other processes.
 * - If the memory of Redis is full, the commits of a group that add nothing are sent again without the
 *   others.
 * - Waiting commits have at most `WAITING_SIZE_MAX` together. A commit beyond that is refused, and not
 *   sent.
 */
import { waitAtMost, yieldToEventLoop } from '../../../async/waiting.ts';
import type { Clock } from '../../../ports/clock.ts';
import { TIME_BUDGETS } from '../../../ports/limits.ts';
import { StoreRefused, StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { isMemoryFull } from '../client/failures.ts';
import type { DamageLog } from '../damage-log.ts';
import { type Script, scripts } from '../scripts.ts';
import type { EncodedCommit } from './commit-arguments.ts';

/** Runs a script, and sends it again when its reply is lost. */
type Call = (script: Script, args: readonly string[]) => Promise<Reply>;

type Deps = {
  readonly clock: Clock;
  /** Output alone is sent at the earliest this long after the last group. */
  readonly outputEveryMs: number;
  /** The name of this process. `channel` is the channel of all processes, `ownChannel` that of this one. */
  readonly processName: string;
  readonly channel: string;
  readonly ownChannel: string;
  /** Called with what the commits of a group changed: the topics, and the earliest new due time. */
  onApplied(topics: ReadonlySet<string>, dueMs: number | undefined): void;
  readonly noteDamage: DamageLog;
};

export type CommitGroups = {
  /** Sends a commit together with others of this tick. Resolves with the result as the script wrote it. */
  run(commit: EncodedCommit): Promise<string>;
  /** Resolves when nothing waits and no group is under way. */
  whenIdle(): Promise<void>;
};

const COMMITS_MAX = 128;
/** A group that has reached this size takes no further commit. */
const GROUP_SIZE_MAX = 256 * 2 ** 10;
const UNDER_WAY_MAX = 2;
/** The same limit as `ARGUMENT_BYTES_MAX` of the calls under way. */
const WAITING_SIZE_MAX = 64 * 2 ** 20;

type Waiting = PromiseWithResolvers<string> & { readonly commit: EncodedCommit; readonly sinceMs: number };

export function createCommitGroups(deps: Deps, call: Call): CommitGroups {
  const { clock, outputEveryMs } = deps;
  const waiting = createWaitingCommits();
  const underWay = new Set<Promise<void>>();
  let isScheduled = false;
  let isPausing = false;
  let lastSentMs = Number.NEGATIVE_INFINITY;

  function schedule(): void {
    if (isScheduled || waiting.count() === 0 || underWay.size >= UNDER_WAY_MAX) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (waiting.count() > 0 && underWay.size < UNDER_WAY_MAX && !isTooEarly())
        sendGroup(waiting.takeGroup());
    });
  }

  /** Whether only output waits and its pause is not over. Schedules the next look at the end of the pause. */
  function isTooEarly(): boolean {
    const pauseMs = lastSentMs + outputEveryMs - clock.monotonicMs();
    if (pauseMs <= 0 || !waiting.isOutputAlone()) return false;
    if (!isPausing) {
      isPausing = true;
      void clock.sleep(pauseMs).then(() => {
        isPausing = false;
        schedule();
      });
    }
    return true;
  }

  function sendGroup(group: readonly Waiting[]): void {
    lastSentMs = clock.monotonicMs();
    const sent = finishGroup(group).finally(() => {
      underWay.delete(sent);
      schedule();
    });
    underWay.add(sent);
  }

  async function finishGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const commits = group.map(({ commit }) => commit);
      const sinceMs = Math.max(...group.map((one) => one.sinceMs));
      const results = await runInTime(commits, sinceMs);
      for (const [index, { resolve }] of group.entries()) resolve(results[index] ?? '');
    } catch (error) {
      const others = isMemoryFull(error) ? group.filter(({ commit }) => !commit.isAdmission) : [];
      for (const one of group) if (!others.includes(one)) one.reject(error);
      if (others.length > 0) await finishGroup(others);
    }
  }

  /** Runs commits. The time that they have waited behind slow groups counts against their time limit. */
  async function runInTime(commits: readonly EncodedCommit[], sinceMs: number): Promise<readonly string[]> {
    const replied = runCommits(deps, call, commits);
    const waitedMs = clock.monotonicMs() - sinceMs;
    if (waitedMs < TIME_BUDGETS.callCheckMs) return await replied;
    const results = await waitAtMost(clock, TIME_BUDGETS.storeWithinMs - waitedMs, replied);
    if (results === 'late') throw new StoreUnavailable('Redis is not available: it has not replied in time.');
    return results;
  }

  return {
    async run(commit) {
      const one = { ...Promise.withResolvers<string>(), commit, sinceMs: clock.monotonicMs() };
      waiting.add(one);
      schedule();
      return await one.promise;
    },
    async whenIdle() {
      while (waiting.count() > 0 || underWay.size > 0) {
        await Promise.all(underWay);
        await yieldToEventLoop();
      }
    },
  };
}

/** The commits that are not sent yet, in the order of their calls. */
function createWaitingCommits() {
  const all = new Set<Waiting>();
  let allSize = 0;
  let others = 0;
  return {
    count: () => all.size,
    isOutputAlone: () => others === 0,
    /** Throws `StoreRefused` if too much waits already. */
    add(one: Waiting): void {
      if (allSize > 0 && allSize + one.commit.size > WAITING_SIZE_MAX)
        throw new StoreRefused('Redis is slow: too many commits wait for it already.');
      all.add(one);
      allSize += one.commit.size;
      others += Number(!one.commit.isOutputAlone);
    },
    /** Removes and returns the next commits, as many as fit into one script, but at least one. */
    takeGroup(): readonly Waiting[] {
      const group: Waiting[] = [];
      let size = 0;
      for (const one of all) {
        if (group.length === COMMITS_MAX || size >= GROUP_SIZE_MAX) break;
        all.delete(one);
        group.push(one);
        size += one.commit.size;
        allSize -= one.commit.size;
        others -= Number(!one.commit.isOutputAlone);
      }
      return group;
    },
  };
}

async function runCommits(
  deps: Deps,
  call: Call,
  commits: readonly EncodedCommit[],
): Promise<readonly string[]> {
  const { processName, channel, ownChannel } = deps;
  const args = [processName, channel, ownChannel];
  for (const commit of commits) for (const arg of commit.args) args.push(arg);
  const [dueMs, ...results] = (await call(chooseScript(commits), args)) as readonly string[];
  for (const entry of results.splice(commits.length)) deps.noteDamage(entry);
  const topics = new Set<string>();
  for (const [index, commit] of commits.entries())
    if (results[index]?.startsWith('ok')) for (const topic of commit.topics) topics.add(topic);
  deps.onApplied(topics, dueMs ? Number(dueMs) : undefined);
  return results;
}

/** Chooses the smallest script that has the parts for these commits. */
function chooseScript(commits: readonly EncodedCommit[]): Script {
  const isAdmitting = commits.some(({ isAdmission }) => isAdmission);
  if (commits.some(({ hasOutput }) => hasOutput))
    return isAdmitting ? scripts.admitOutput : scripts.commitOutput;
  return isAdmitting ? scripts.admit : scripts.commit;
}
