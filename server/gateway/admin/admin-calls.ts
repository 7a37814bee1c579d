/**
 * The calls of administrators put together: the overview, tasks and agents as rows, the cancellation of many
 * tasks, and the drain of an agent.
 */
import type { LargeWork } from '../../async/large-work.ts';
import type { AdminCalls } from '../../ports/admin.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { Store } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import type { Seen } from '../agents/seen.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { createAgentCalls } from './agents.ts';
import { createOverview, type OverviewReader, type OverviewSettings } from './overview/overview.ts';
import { createListTasks } from './tasks/list-tasks.ts';
import { createTaskCancellation } from './tasks/task-cancellation.ts';

type Deps = Seen & {
  readonly store: Store;
  readonly clock: Clock;
  readonly agents: RegisteredAgents;
  readonly agentIndex: AgentIndex;
  readonly commits: TaskCommits;
  readonly largeWork: LargeWork;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly keepTasksMs: number;
  readonly overviewSettings: OverviewSettings;
  readonly limits: { readonly openTasksMax: number; readonly agentsMax: number };
};

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
      ...createAgentCalls({ ...deps, consoleMode }),
    },
  };
}
