/**
 * The calls of administrators put together: the overview, tasks and agents as rows, and the cancellation of
 * many tasks; and what this process keeps in memory for them as things happen.
 */
import type { LargeWork } from '../../async/large-work.ts';
import type { AdminCalls } from '../../ports/admin.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { Store } from '../../ports/store.ts';
import { type ContactStrips, createContactStrips } from '../agents/contact-strips.ts';
import { createPushRecords, type PushRecords } from '../agents/push-records.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import { createUntakenTasks, type UntakenTasks } from '../agents/untaken-tasks.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import type { LargeTasks } from '../tasks/large-tasks.ts';
import { createAgentReads } from './agents.ts';
import { createOverview, type OverviewReader, type OverviewSettings } from './overview/overview.ts';
import { createListTasks } from './tasks/list-tasks.ts';
import { createTaskCancellation } from './tasks/task-cancellation.ts';

/** The observations of this process, for administrators. */
export type Seen = {
  readonly pushRecords: PushRecords;
  readonly contactStrips: ContactStrips;
  readonly untakenTasks: UntakenTasks;
};

/** Creates it with nothing seen. */
export function createSeen(store: Store): Seen {
  return {
    pushRecords: createPushRecords(),
    contactStrips: createContactStrips(),
    untakenTasks: createUntakenTasks(store),
  };
}

/** The same store; each contact of an agent that exists is noted. Anyone may name one that does not. */
export function noteTouches(store: Store, contactStrips: ContactStrips): Store {
  return {
    ...store,
    touch(agent_id, touch) {
      const nowMs = store.nowMs();
      return store.touch(agent_id, touch).then((record) => {
        if (record) contactStrips.noteTouch(agent_id, touch, nowMs);
        return record;
      });
    },
  };
}

/** The same observer; what is seen of tasks and registrations is noted too. */
export function noteEvents(
  observer: Observer,
  store: Pick<Store, 'nowMs'>,
  { contactStrips, untakenTasks }: Seen,
): Observer {
  return {
    ...observer,
    noteStep(step) {
      untakenTasks.noteStep(step);
      observer.noteStep(step);
    },
    noteAgent(change, record) {
      if (change === 'registered') contactStrips.noteContact(record.agent_id, store.nowMs());
      observer.noteAgent(change, record);
    },
  };
}

type Deps = Seen & {
  readonly store: Store;
  readonly clock: Clock;
  readonly agents: RegisteredAgents;
  readonly agentIndex: AgentIndex;
  readonly commits: TaskCommits;
  readonly largeWork: LargeWork;
  readonly largeTasks: LargeTasks;
  readonly keepTasksMs: number;
  readonly overviewSettings: OverviewSettings;
  readonly limits: { readonly openTasksMax: number; readonly agentsMax: number };
};

/** Creates the operations. */
export function createAdmin(deps: Deps): {
  readonly calls: AdminCalls;
  readonly noteHealth: OverviewReader['noteHealth'];
} {
  const { getOverview, noteHealth } = createOverview({ ...deps, settings: deps.overviewSettings });
  const { consoleMode } = deps.overviewSettings;
  return {
    noteHealth,
    calls: {
      getOverview,
      ...createListTasks(deps),
      ...createTaskCancellation({ ...deps, consoleMode }),
      ...createAgentReads(deps),
    },
  };
}
