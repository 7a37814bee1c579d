/** The administrator's operations: list agents and tasks. */
import { renderJson } from '../../domain/json-text.ts';
import type { TaskInfo } from '../../domain/task.ts';
import type { AgentListing, Gateway } from '../../ports/gateway.ts';
import type { Handlers } from './handlers.ts';

/** Creates the handlers. */
export function createAdminHandlers(gateway: Gateway): Pick<Handlers, 'listAgents' | 'listTasks'> {
  return {
    async listAgents() {
      return { status: 200, parts: renderAgents(gateway.listAgents()) };
    },

    async listTasks({ query, caller }) {
      const { status, outcome, type, tag, session, agent, cursor } = query;
      const asked = {
        limit: query.limit ?? 100,
        ...(status !== undefined && { status }),
        ...(outcome !== undefined && { outcome }),
        ...(type !== undefined && { type }),
        ...(tag !== undefined && { tag }),
        ...(session !== undefined && { session }),
        ...(agent !== undefined && { agent }),
        ...(cursor !== undefined && { cursor }),
      };
      const { tasks, next_cursor } = await gateway.listTasks(asked, renderTask, caller);
      return { status: 200, rendered: renderPage(tasks, next_cursor) };
    },
  };
}

/** `{"agents":[…],"total":…}`, agent by agent. */
async function* renderAgents(agents: AsyncIterable<AgentListing>): AsyncGenerator<string> {
  yield '{"agents":[';
  let total = 0;
  for await (const agent of agents) {
    yield `${total > 0 ? ',' : ''}${JSON.stringify(agent)}`;
    total += 1;
  }
  yield `],"total":${total}}`;
}

function renderTask(task: TaskInfo): Buffer {
  return renderJson(task);
}

/** `{"tasks":[…],"next_cursor":…}` */
function renderPage(tasks: readonly Buffer[], next_cursor: string | null): Buffer {
  const comma = Buffer.from(',');
  const listed = tasks.flatMap((task, index) => (index > 0 ? [comma, task] : [task]));
  const end = `],"next_cursor":${JSON.stringify(next_cursor)}}`;
  return Buffer.concat([Buffer.from('{"tasks":['), ...listed, Buffer.from(end)]);
}
