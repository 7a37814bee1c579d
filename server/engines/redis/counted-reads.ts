/** Reads that cost the same however much there is: of what an agent holds, and of what waits. */
import type { Store } from '../../ports/store.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** The methods of the port, over a connection. */
export function createCountedReads(
  connection: Pick<Connection, 'call'>,
): Pick<Store, 'listClaimable' | 'readDemand' | 'findSlots'> {
  return {
    async listClaimable(agent_id, limit) {
      const reply = await connection.call(scripts.claimable, [agent_id, String(limit)]);
      const [request_ids, nextMs] = reply as readonly Reply[];
      return {
        request_ids: request_ids as readonly string[],
        nextMs: nextMs === '' ? null : Number(nextMs),
      };
    },

    async readDemand(tagsMax) {
      const reply = await connection.call(scripts.demand, [String(tagsMax)]);
      const [openTasks, waitingTasks, oldest, tags] = reply as readonly Reply[];
      return {
        openTasks: Number(openTasks),
        waitingTasks: Number(waitingTasks),
        // A position begins with the time of the submission.
        oldestWaitingMs: oldest === '' ? null : Number(String(oldest).split('/', 1)[0]),
        tags: tags as readonly string[],
      };
    },

    async findSlots(agent_id, request_ids) {
      if (request_ids.length === 0) return new Set();
      const reply = await connection.call(scripts.findSlots, [agent_id, ...request_ids]);
      const found = reply as readonly Reply[];
      return new Set(request_ids.filter((_, index) => found[index] === 1));
    },
  };
}
