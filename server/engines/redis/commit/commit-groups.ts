/**
 * Sends commits in groups: those of one tick of the event loop travel as one script, which checks and
 * applies each by itself. So a round trip, a write to the disk and a notification serve many of them.
 *
 *   run() --> waiting --(end of the tick, fewer than two groups under way)--> a group under way --> results
 *
 * Promises
 * - A commit resolves with its result, or rejects with what its group rejects with. A group whose reply is
 *   lost is sent again: what it had applied is found by its revisions.
 * - Listeners of this process are notified by the reply, before its commits resolve; other processes by the
 *   message that the script publishes.
 * - Where the memory of Redis is full, the commits of a group that add nothing are sent again by themselves.
 * - What waits has at most `WAITING_SIZE_MAX`; a commit beyond it is refused, and not sent.
 */
import { waitAtMost, yieldToEventLoop } from '../../../async/waiting.ts';
import type { Clock } from '../../../ports/clock.ts';
import { TIME_BUDGETS } from '../../../ports/limits.ts';
import { StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { isMemoryFull } from '../client/failures.ts';
import { type Script, scripts } from '../scripts.ts';
import type { EncodedCommit } from './commit-arguments.ts';

/** Runs a script; it is sent again when its reply is lost. */
type Call = (script: Script, args: readonly string[]) => Promise<Reply>;

type Deps = {
  readonly clock: Clock;
  /** Names this process, and the channels of notifications: that of all processes and that of this one. */
  readonly processName: string;
  readonly channel: string;
  readonly ownChannel: string;
  /** Called with what the commits of a group changed: topics, and the earliest time that became due. */
  onApplied(topics: ReadonlySet<string>, dueMs: number | undefined): void;
};

export type CommitGroups = {
  /** Commits with others of this tick by `call`; resolves with the result as the script replied it. */
  run(commit: EncodedCommit): Promise<string>;
  /** Resolves when nothing waits and no group is under way. */
  whenIdle(): Promise<void>;
};

const COMMITS_MAX = 128;
const GROUP_SIZE_MAX = 256 * 2 ** 10;
const UNDER_WAY_MAX = 2;
/** As much as may be under way. */
const WAITING_SIZE_MAX = 64 * 2 ** 20;

type Waiting = PromiseWithResolvers<string> & { readonly commit: EncodedCommit; readonly sinceMs: number };

/** Creates it without commits; `call` sends its groups. */
export function createCommitGroups(deps: Deps, call: Call): CommitGroups {
  const { clock } = deps;
  const waiting = createWaitingCommits();
  const underWay = new Set<Promise<void>>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.count() === 0 || underWay.size >= UNDER_WAY_MAX) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (waiting.count() > 0 && underWay.size < UNDER_WAY_MAX) sendGroup(waiting.takeGroup());
    });
  }

  function sendGroup(group: readonly Waiting[]): void {
    const sent = finishGroup(group).finally(() => {
      underWay.delete(sent);
      schedule();
    });
    underWay.add(sent);
  }

  /** Resolves or rejects every commit of the group. */
  async function finishGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const commits = group.map(({ commit }) => commit);
      const results = await runInTime(commits, group[0]?.sinceMs ?? 0);
      for (const [index, { resolve }] of group.entries()) resolve(results[index] ?? '');
    } catch (error) {
      const others = isMemoryFull(error) ? group.filter(({ commit }) => !commit.isAdmission) : [];
      for (const one of group) if (!others.includes(one)) one.reject(error);
      if (others.length > 0) await finishGroup(others);
    }
  }

  /** Commits that waited behind slow groups have no more time than others. */
  async function runInTime(commits: readonly EncodedCommit[], sinceMs: number): Promise<readonly string[]> {
    const replied = runCommits(deps, call, commits);
    const waitedMs = clock.monotonicMs() - sinceMs;
    if (waitedMs < TIME_BUDGETS.callCheckMs) return await replied;
    const results = await waitAtMost(clock, TIME_BUDGETS.storeWithinMs - waitedMs, replied);
    if (results === 'late') throw new StoreUnavailable('Redis is not available: it has not replied in time.');
    return results;
  }

  return {
    run(commit) {
      const one = { ...Promise.withResolvers<string>(), commit, sinceMs: clock.monotonicMs() };
      waiting.add(one);
      schedule();
      return one.promise;
    },
    async whenIdle() {
      while (waiting.count() > 0 || underWay.size > 0) {
        await Promise.all(underWay);
        await yieldToEventLoop();
      }
    },
  };
}

/** The commits that are not sent yet, in their order. */
function createWaitingCommits() {
  let all: Waiting[] = [];
  let allSize = 0;
  return {
    count: () => all.length,
    /** Throws `StoreUnavailable` where too much waits already. */
    add(one: Waiting): void {
      if (allSize > 0 && allSize + one.commit.size > WAITING_SIZE_MAX)
        throw new StoreUnavailable('Redis is slow: too many commits wait for it already.');
      all.push(one);
      allSize += one.commit.size;
    },
    /** Those that have waited longest, as many as one script takes: at least one. */
    takeGroup(): readonly Waiting[] {
      let count = 0;
      let size = 0;
      for (const { commit } of all) {
        if (count > 0 && (count >= COMMITS_MAX || size + commit.size > GROUP_SIZE_MAX)) break;
        count += 1;
        size += commit.size;
      }
      const group = all.slice(0, count);
      all = all.slice(count);
      allSize -= size;
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
  const script = commits.some(({ isAdmission }) => isAdmission) ? scripts.admit : scripts.commit;
  const [dueMs, ...results] = (await call(script, args)) as readonly string[];
  const topics = new Set<string>();
  for (const [index, commit] of commits.entries())
    if (results[index] === 'ok') for (const topic of commit.topics) topics.add(topic);
  deps.onApplied(topics, dueMs ? Number(dueMs) : undefined);
  return results;
}
