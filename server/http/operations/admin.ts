/** The administrator's operations: list agents and tasks. */
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import { validationFailed } from '../problems.ts';
import type { Handlers } from './handlers.ts';

/** Creates the handlers. */
export function createAdminHandlers(gateway: Gateway): Pick<Handlers, 'listAgents' | 'listTasks'> {
  return {
    async listAgents() {
      return { status: 200, body: await gateway.listAgents() };
    },

    async listTasks({ query }) {
      const { status, type, tag, session, agent, cursor } = query;
      try {
        const page = await gateway.listTasks({
          limit: query.limit ?? 100,
          ...(status !== undefined && { status }),
          ...(type !== undefined && { type }),
          ...(tag !== undefined && { tag }),
          ...(session !== undefined && { session }),
          ...(agent !== undefined && { agent }),
          ...(cursor !== undefined && { cursor }),
        });
        return { status: 200, body: page };
      } catch (error) {
        // Only the gateway can check a cursor: it made it.
        if (!(error instanceof GatewayError) || error.code !== 'validation_failed') throw error;
        const detail = 'must be the `next_cursor` of the previous page';
        throw validationFailed([{ pointer: '/cursor', detail }]);
      }
    },
  };
}
