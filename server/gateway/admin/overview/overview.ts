/**
 * The overview: one reading of the counts, shared by everyone who asks within a second. Its cost does not
 * grow with the number of tasks or of open consoles: 50 consoles cost one reading a second. A reading passes
 * over this process's copy of the agents, which takes some milliseconds for 20,000 agents.
 *
 * During an outage of the store, the overview keeps showing the last reading and says so.
 */
import { waitAtMost } from '../../../async/waiting.ts';
import {
  type ActivityStep,
  findMedianSeconds,
  levelsOf,
  STEP_MS,
  STEPS_MAX,
} from '../../../domain/activity.ts';
import type { EndedTask } from '../../../domain/ended-task.ts';
import { groupFailures, windowStartMs } from '../../../domain/failures.ts';
import type { TaskState } from '../../../domain/task.ts';
import { fillOutcomes, type OutcomeCounts, tagsWithoutAgent } from '../../../domain/task-counts.ts';
import type {
  AdminCalls,
  ConsoleMode,
  Overview,
  OverviewProblem,
  RecentFailures,
} from '../../../ports/admin.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { AgentFigures } from '../../../ports/figures.ts';
import { STORE_LIMITS } from '../../../ports/limits.ts';
import { type Store, StoreDamaged, StoreUnavailable } from '../../../ports/store.ts';
import type { PushRecords } from '../../agents/push-records.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import type { UntakenTasks } from '../../agents/untaken-tasks.ts';
import { readIfWhole } from '../../tasks/read-task.ts';
import { describeAgentCounts } from '../agents.ts';
import { type FirstQuestion, findFirstQuestion } from './answer-problem.ts';
import {
  type AgentFailures,
  describeFailures,
  findAgentFailures,
  listFailureProblems,
} from './failure-problems.ts';
import { describeStoreDown, listProblems } from './overview-problems.ts';
import { buildTagTable, countUntakenSlots, type TagSources, type TagTable } from './overview-tags.ts';
import type { UnmatchedTask } from './tag-problems.ts';

/** What the overview says of the gateway itself. */
export type OverviewSettings = {
  readonly storeKind: 'sqlite' | 'redis' | 'memory';
  readonly consoleMode: ConsoleMode;
  readonly isSecretPublic: boolean;
  readonly isMetricsPublic: boolean;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly agentIndex: AgentIndex;
  readonly pushRecords: PushRecords;
  readonly untakenTasks: Pick<UntakenTasks, 'count'>;
  readonly settings: OverviewSettings;
  readonly limits: { readonly openTasksMax: number; readonly agentsMax: number };
};

export type OverviewReader = Pick<AdminCalls, 'getOverview'> & {
  /** Checks whether the store responds. Called often, so that the overview can say since when it does not. */
  noteHealth(): void;
};

/** How long one reading is shared. */
const SHARED_MS = 1_000;
/** The overview counts the store as out if it takes longer than this. */
const STORE_WITHIN_MS = 2_000;
/** How many tags of waiting tasks a reading looks at. */
const TAGS_MAX = 1_000;
const OLDEST_MAX = 5;
/** How many of the last tasks without an agent are read for their tags. */
const UNMATCHED_MAX = 20;

type Reading = TagSources & {
  readonly nowMs: number;
  /** Built once for each reading, because there may be a thousand tags. */
  readonly table: TagTable;
  readonly oldest: readonly { readonly request_id: string; readonly state: TaskState }[];
  readonly firstQuestion: FirstQuestion | null;
  readonly failures: RecentFailures;
  readonly failing: readonly OverviewProblem[];
  readonly ofAgents: ReadonlyMap<string, AgentFailures>;
  readonly unmatched: readonly UnmatchedTask[];
  readonly figures: AgentFigures;
  readonly problems: readonly OverviewProblem[];
};

/** Creates the overview. It reads nothing until it is asked for. */
export function createOverview(deps: Deps): OverviewReader {
  const { store, clock } = deps;
  let reading = completeReading(deps, createEmptyReading(store.nowMs()));
  let readMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<string | null> | null = null;
  let condition = { ok: true, error: null as string | null, sinceMs: store.nowMs() };

  function noteCondition(error: string | null): void {
    const ok = error === null;
    const sinceMs = ok === condition.ok ? condition.sinceMs : store.nowMs();
    condition = { ok, error, sinceMs };
  }

  function noteHealth(): void {
    const health = store.health();
    noteCondition(health.ok ? null : health.outage.message);
  }

  /** Resolves with the reason if the store could not be read; else with null. */
  async function readAgain(): Promise<string | null> {
    const health = store.health();
    if (!health.ok) return health.outage.message;
    try {
      const read = await waitAtMost(clock, STORE_WITHIN_MS, readStore(deps, reading.unmatched));
      if (read === 'late') return `no reply within ${STORE_WITHIN_MS / 1_000} s`;
      reading = read;
      return null;
    } catch (error) {
      if (error instanceof StoreUnavailable || error instanceof StoreDamaged) return error.message;
      throw error;
    }
  }

  async function update(): Promise<void> {
    if (clock.monotonicMs() - readMs < SHARED_MS) return;
    underWay ??= readAgain().finally(() => {
      underWay = null;
      readMs = clock.monotonicMs();
    });
    noteCondition(await underWay);
  }

  return {
    noteHealth,
    async getOverview(tagsMax) {
      await update();
      return describeOverview(deps.settings, reading, condition, tagsMax);
    },
  };
}

async function readStore(deps: Deps, knownUnmatched: readonly UnmatchedTask[]): Promise<Reading> {
  const { store, agentIndex, untakenTasks } = deps;
  const [counts, steps, waiting, ended, firstQuestion] = await Promise.all([
    store.readCounts(TAGS_MAX),
    store.readActivity(),
    store.list('waiting', {}, { limit: OLDEST_MAX }),
    store.readEnded(),
    findFirstQuestion(store),
    agentIndex.refresh(),
  ]);
  const nowMs = store.nowMs();
  const oldest = await Promise.all(
    waiting.items.map(async ({ request_id }) => {
      const state = (await readIfWhole(store, request_id))?.value;
      return state ? [{ request_id, state }] : [];
    }),
  );
  const unmatched = await readUnmatched(store, ended, nowMs, knownUnmatched);
  const failures = groupFailures(ended, nowMs, STORE_LIMITS.endedMax);
  const untaken = countUntakenSlots(agentIndex, untakenTasks.count);
  const table = buildTagTable({ counts, steps, untaken }, agentIndex, TAGS_MAX);
  return completeReading(deps, {
    nowMs,
    counts,
    steps,
    untaken,
    table,
    oldest: oldest.flat(),
    firstQuestion,
    failures: describeFailures(failures),
    failing: listFailureProblems(failures, nowMs, agentIndex),
    ofAgents: findAgentFailures(failures),
    unmatched,
  });
}

/** Reads the tags of the last tasks that found no agent. A settled task never changes, so it is read once. */
async function readUnmatched(
  store: Pick<Store, 'get'>,
  ended: readonly EndedTask[],
  nowMs: number,
  known: readonly UnmatchedTask[],
): Promise<readonly UnmatchedTask[]> {
  const fromMs = windowStartMs(nowMs);
  const found = ended.filter(({ outcome, endedMs }) => outcome === 'no_agent' && endedMs >= fromMs);
  const tasks = await Promise.all(
    found.slice(0, UNMATCHED_MAX).map(async ({ request_id, endedMs }) => {
      const before = known.find((one) => one.request_id === request_id);
      if (before) return [before];
      const state = (await readIfWhole(store, request_id))?.value;
      return state ? [{ request_id, endedMs, tags: tagsWithoutAgent(state) }] : [];
    }),
  );
  return tasks.flat();
}

function createEmptyReading(nowMs: number): StoreReading {
  const none = { pending: 0, running: 0, waiting: 0, waitingForAnswer: 0, ended: fillOutcomes() };
  const counts = { ...none, oldestWaitingMs: null, tags: [] };
  const untaken = { total: 0, byTag: new Map<string, number>() };
  return {
    nowMs,
    counts,
    steps: [],
    untaken,
    table: { rows: [], total: 0 },
    oldest: [],
    firstQuestion: null,
    unmatched: [],
    failures: { since: null, ended: 0, failed: 0, groups_total: 0, groups: [] },
    failing: [],
    ofAgents: new Map(),
  };
}

type Condition = { readonly ok: boolean; readonly error: string | null; readonly sinceMs: number };

/** What is read from the store, before figures and problems are added. */
type StoreReading = Omit<Reading, 'figures' | 'problems'>;

function completeReading(
  { agentIndex, pushRecords, settings, limits }: Deps,
  reading: StoreReading,
): Reading {
  const figures = agentIndex.figures();
  const openTasks = reading.counts.pending + reading.counts.running;
  const agents = describeAgentCounts(figures).total;
  const problems = listProblems({
    ...reading,
    rows: reading.table.rows,
    agentIndex,
    pushRecords,
    isSecretPublic: settings.isSecretPublic,
    isMetricsPublic: settings.isMetricsPublic,
    limits: [
      { what: 'open tasks', setting: 'OPEN_TASKS_MAX', count: openTasks, max: limits.openTasksMax },
      { what: 'agents', setting: 'AGENTS_MAX', count: agents, max: limits.agentsMax },
    ],
  });
  return { ...reading, figures, problems };
}

function describeOverview(
  settings: OverviewSettings,
  reading: Reading,
  condition: Condition,
  tagsMax: number,
): Overview {
  const { nowMs, counts, steps, table, figures, problems } = reading;
  const openTasks = counts.pending + counts.running;
  const ended = sumOutcomes(steps);
  const { ok, error, sinceMs } = condition;
  return {
    time: nowMs / 1_000,
    console: settings.consoleMode,
    store: { kind: settings.storeKind, ok, since: sinceMs / 1_000, error },
    tasks: { ...levelsOf(openTasks, counts.waiting), waiting_for_answer: counts.waitingForAnswer },
    slots: describeSlots(figures, reading.untaken.total),
    agents: describeAgentCounts(figures),
    window: (STEP_MS * STEPS_MAX) / 1_000,
    ended,
    failures: reading.failures,
    median_seconds: findMedianSeconds(steps),
    series: describeSeries(steps),
    tags_total: table.total,
    tags: table.rows.slice(0, tagsMax),
    oldest_waiting: reading.oldest.map(({ request_id, state }) => describeWaitingTask(request_id, state)),
    problems: error === null ? problems : [describeStoreDown(sinceMs, error), ...problems],
  };
}

function describeSlots(
  { usedSlots: used, freeSlots: free, unusableSlots }: AgentFigures,
  untakenSlots: number,
): Overview['slots'] {
  const not_taken = Math.min(untakenSlots, used);
  return { used, free, unusable: unusableSlots + not_taken, not_taken };
}

function describeWaitingTask(
  request_id: string,
  { status, task_type, task_tags, createdMs, queueEndMs, deadlineMs }: TaskState,
): Overview['oldest_waiting'][number] {
  // A task that was assigned before has no queue timeout any more: only its deadline ends it.
  const endMs = status === 'pending' ? queueEndMs : null;
  const gives_up_time = (endMs ?? deadlineMs) / 1_000;
  return { request_id, task_type, task_tags, create_time: createdMs / 1_000, gives_up_time };
}

function sumOutcomes(steps: readonly ActivityStep[]): OutcomeCounts {
  const sums = fillOutcomes();
  for (const { ended } of steps) {
    for (const [outcome, count] of Object.entries(ended) as [keyof OutcomeCounts, number][]) {
      sums[outcome] += count;
    }
  }
  return sums;
}

function describeSeries(steps: readonly ActivityStep[]): Overview['series'] {
  const missing = Array.from({ length: STEPS_MAX - steps.length }, () => 0);
  const list = (read: (step: ActivityStep) => number): readonly number[] => [...missing, ...steps.map(read)];
  return {
    step: STEP_MS / 1_000,
    waiting: list(({ waiting }) => waiting),
    running: list(({ running }) => running),
    success: list(({ ended }) => ended.success),
    failed: list(({ ended }) => ended.failed + ended.timeout + ended.agent_lost),
    no_agent: list(({ ended }) => ended.no_agent),
  };
}
