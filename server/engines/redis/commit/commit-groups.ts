/**
 * Sends commits in groups: those of one tick of the event loop travel as one script, which checks and
 * applies each by itself. So a round trip, a write to the disk and a notification serve many of them.
 *
 *   run() --> waiting --(end of the tick, fewer than two groups under way)--> a group under way --> results
 *
 * Commits that only append to output also wait until a while after the last group was sent: their callers
 * have more to write soon. Any other commit that joins them ends that wait.
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
import { StoreRefused, StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { isMemoryFull } from '../client/failures.ts';
import type { DamageLog } from '../damage-log.ts';
import { type Script, scripts } from '../scripts.ts';
import type { EncodedCommit } from './commit-arguments.ts';

/** Runs a script; it is sent again when its reply is lost. */
type Call = (script: Script, args: readonly string[]) => Promise<Reply>;

type Deps = {
  readonly clock: Clock;
  /** Output alone is sent this long after the group before it, at the earliest. */
  readonly outputEveryMs: number;
  /** Names this process, and the channels of notifications: that of all processes and that of this one. */
  readonly processName: string;
  readonly channel: string;
  readonly ownChannel: string;
  /** Called with what the commits of a group changed: topics, and the earliest time that became due. */
  onApplied(topics: ReadonlySet<string>, dueMs: number | undefined): void;
  readonly noteDamage: DamageLog;
};

export type CommitGroups = {
  /** Commits with others of this tick by `call`; resolves with the result as the script replied it. */
  run(commit: EncodedCommit): Promise<string>;
  /** Resolves when nothing waits and no group is under way. */
  whenIdle(): Promise<void>;
};

const COMMITS_MAX = 128;
/** The commit with which a group reaches this is its last. */
const GROUP_SIZE_MAX = 256 * 2 ** 10;
const UNDER_WAY_MAX = 2;
/** As much as may be under way. */
const WAITING_SIZE_MAX = 64 * 2 ** 20;

type Waiting = PromiseWithResolvers<string> & { readonly commit: EncodedCommit; readonly sinceMs: number };

/** Creates it without commits; `call` sends its groups. */
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

  /** Whether output alone waits, for more of it; then this ends by itself. */
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

  /** Resolves or rejects every commit of the group. */
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

  /** If all of them waited behind slow groups, they have no more time than others. */
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

/** The commits that are not sent yet, in their order. */
function createWaitingCommits() {
  const all = new Set<Waiting>();
  let allSize = 0;
  let others = 0;
  return {
    count: () => all.size,
    isOutputAlone: () => others === 0,
    /** Throws `StoreRefused` where too much waits already. */
    add(one: Waiting): void {
      if (allSize > 0 && allSize + one.commit.size > WAITING_SIZE_MAX)
        throw new StoreRefused('Redis is slow: too many commits wait for it already.');
      all.add(one);
      allSize += one.commit.size;
      others += Number(!one.commit.isOutputAlone);
    },
    /** Those that are next, until one script has enough: at least one. */
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

/** The script with the parts that these commits need. */
function chooseScript(commits: readonly EncodedCommit[]): Script {
  const isAdmitting = commits.some(({ isAdmission }) => isAdmission);
  if (commits.some(({ hasOutput }) => hasOutput))
    return isAdmitting ? scripts.admitOutput : scripts.commitOutput;
  return isAdmitting ? scripts.admit : scripts.commit;
}
