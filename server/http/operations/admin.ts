/**
 * The administrator's operations: the overview, tasks and agents as rows, all agents, one agent; and the
 * cancellation of many tasks.
 */
import type { TaskFilter, TaskSelection } from '../../ports/admin.ts';
import type { AgentListing, Gateway } from '../../ports/gateway.ts';
import { replyTagged } from '../response/entity-tag.ts';
import type { Handlers } from './handlers.ts';

type Names = 'getOverview' | 'listTasks' | 'cancelTasks' | 'listAgents' | 'listAgentRows' | 'getAgent';

const TAGS_DEFAULT = 100;
const LIMIT_DEFAULT = 100;

/** Creates the handlers. `version`: that of the contract. */
export function createAdminHandlers(gateway: Gateway, version: string): Pick<Handlers, Names> {
  return {
    async getOverview({ query, header }) {
      const { time, ...overview } = await gateway.getOverview(query.tags ?? TAGS_DEFAULT);
      return replyTagged({ time, version, ...overview }, header('If-None-Match'));
    },

    async listTasks({ query, header, caller }) {
      const { counts = false, cursor, limit = LIMIT_DEFAULT } = query;
      const asked = { ...pickFilter(query), counts, limit, ...(cursor !== undefined && { cursor }) };
      return replyTagged(await gateway.listTasks(asked, caller), header('If-None-Match'));
    },

    async cancelTasks({ body, caller }) {
      const { created_before, dry_run = false, cursor = null } = body;
      const cancellation = { ...pickSelection(body), created_before, dry_run, cursor };
      return { status: 200, body: await gateway.cancelTasks(cancellation, caller) };
    },

    async listAgents() {
      return { status: 200, parts: renderAgents(gateway.listAgents()) };
    },

    async listAgentRows({ query, header }) {
      const { state, tag, full, failing, id, cursor } = query;
      const asked = {
        limit: query.limit ?? LIMIT_DEFAULT,
        sort: query.sort ?? 'trouble',
        activity: query.activity ?? false,
        ...(state !== undefined && { state }),
        ...(tag !== undefined && { tag }),
        ...(full !== undefined && { full }),
        ...(failing !== undefined && { failing }),
        ...(id !== undefined && { id }),
        ...(cursor !== undefined && { cursor }),
      };
      return replyTagged(await gateway.listAgentRows(asked), header('If-None-Match'));
    },

    async getAgent({ path, header }) {
      return replyTagged(await gateway.getAgent(path.agent_id), header('If-None-Match'));
    },
  };
}

/** The filters among the parameters of a query, or those of a body; what is absent is left out. */
function pickFilter(asked: TaskFilter): TaskFilter {
  const { status, outcome, waiting, type, tag, session, agent, id, created_after, created_before } = asked;
  return {
    ...(status !== undefined && { status }),
    ...(outcome !== undefined && { outcome }),
    ...(waiting !== undefined && { waiting }),
    ...(type !== undefined && { type }),
    ...(tag !== undefined && { tag }),
    ...(session !== undefined && { session }),
    ...(agent !== undefined && { agent }),
    ...(id !== undefined && { id }),
    ...(created_after !== undefined && { created_after }),
    ...(created_before !== undefined && { created_before }),
  };
}

type Selected = { readonly filter?: TaskFilter | null; readonly request_ids?: readonly string[] | null };

/** The one of both that is given; `field-checks.ts` refuses any other body. */
function pickSelection({ filter, request_ids }: Selected): TaskSelection {
  return filter
    ? { filter: pickFilter(filter), request_ids: null }
    : { filter: null, request_ids: request_ids ?? [] };
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
