/**
 * The handlers of the administrator's operations: the overview, tasks and agents as rows, one agent, the
 * cancellation of many tasks, and the drain of an agent.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { AgentQuery, TaskFilter, TaskSelection } from '../../ports/admin.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { replyTagged } from '../response/entity-tag.ts';
import type { Handlers } from './handlers.ts';

type Names = 'getOverview' | 'listTasks' | 'cancelTasks' | 'listAgents' | 'getAgent' | 'drainAgent';

const TAGS_DEFAULT = 100;
const LIMIT_DEFAULT = 100;

/** Creates the handlers. `version` is that of the contract. */
export function createAdminHandlers(gateway: Gateway, version: string): Pick<Handlers, Names> {
  return {
    async getOverview({ query }) {
      const { time, ...overview } = await gateway.getOverview(query.tags ?? TAGS_DEFAULT);
      return replyTagged({ time, version, ...overview });
    },

    async listTasks({ query }) {
      return replyTagged(await gateway.listTasks({ limit: LIMIT_DEFAULT, ...query }));
    },

    async cancelTasks({ body }) {
      const { created_before, dry_run = false, cursor = null } = body;
      const cancellation = { ...pickSelection(body), created_before, dry_run, cursor };
      return { status: 200, body: await gateway.cancelTasks(cancellation) };
    },

    async listAgents({ query }) {
      const { limit, cursor: _cursor, ...filter } = query;
      if (limit === undefined) return { status: 200, parts: renderAgents(gateway, filter) };
      return replyTagged(await gateway.listAgents({ ...query, limit, sort: 'trouble' }));
    },

    async getAgent({ path }) {
      return replyTagged(await gateway.getAgent(path.agent_id));
    },

    async drainAgent({ path, body }) {
      return { status: 200, body: await gateway.drainAgent(path.agent_id, body.draining) };
    },
  };
}

type Selected = { readonly filter?: TaskFilter | null; readonly request_ids?: readonly string[] | null };

/** Returns the selection that is given; `request/field-checks.ts` refuses bodies with both or neither. */
function pickSelection({ filter, request_ids }: Selected): TaskSelection {
  return filter ? { filter, request_ids: null } : { filter: null, request_ids: request_ids ?? [] };
}

/** How many agents one part has. Each part costs a pass over all agents. */
const PART_AGENTS = 1_000;

/** Renders all matching agents by id, page by page. `time` and the counts come from the first page. */
async function* renderAgents(
  gateway: Pick<Gateway, 'listAgents'>,
  filter: Omit<AgentQuery, 'sort' | 'limit' | 'cursor'>,
): AsyncGenerator<string> {
  const query = { ...filter, sort: 'id', limit: PART_AGENTS } as const;
  const { time, total, counts, ...first } = await gateway.listAgents(query);
  let page = first;
  let separator = `{"time":${time},"agents":[`;
  for (;;) {
    for (const agent of page.agents) {
      yield separator + JSON.stringify(agent);
      separator = ',';
    }
    if (page.next_cursor === null) break;
    // Finding a page runs without a pause, so other work gets a turn before the next page.
    await yieldToEventLoop();
    page = await gateway.listAgents({ ...query, cursor: page.next_cursor });
  }
  const end = JSON.stringify({ total, counts, next_cursor: null }).slice(1);
  yield `${separator === ',' ? '' : separator}],${end}`;
}
