/**
 * The slots that agents hold, oldest grant first. A slot belongs to an agent's id and outlives the agent's
 * record.
 */
import BTreeModule from 'sorted-btree';

const BTree = BTreeModule.default;

/** One agent's slots: the order of each task's grant, and the tasks by that order. */
type AgentSlots = {
  readonly orders: Map<string, number>;
  readonly tasks: InstanceType<typeof BTree<number, string>>;
};

export type Slots = {
  count(agent_id: string): number;
  has(agent_id: string, request_id: string): boolean;
  /** Idempotent: a granted slot keeps its position. */
  grant(agent_id: string, request_id: string): void;
  /** Idempotent. */
  release(agent_id: string, request_id: string): void;
  /** At most `limit` slots of an agent, oldest grant first, beginning after the given position. */
  list(
    agent_id: string,
    after: string | undefined,
    limit: number,
  ): readonly { readonly request_id: string; readonly position: string }[];
};

/** Creates an empty set of slots. */
export function createSlots(): Slots {
  const agents = new Map<string, AgentSlots>();
  let grants = 0;

  return {
    count: (agent_id) => agents.get(agent_id)?.orders.size ?? 0,
    has: (agent_id, request_id) => agents.get(agent_id)?.orders.has(request_id) ?? false,
    grant(agent_id, request_id) {
      const slots = agents.get(agent_id) ?? { orders: new Map(), tasks: new BTree<number, string>() };
      if (slots.orders.has(request_id)) return;
      grants += 1;
      slots.orders.set(request_id, grants);
      slots.tasks.set(grants, request_id);
      agents.set(agent_id, slots);
    },
    release(agent_id, request_id) {
      const slots = agents.get(agent_id);
      const order = slots?.orders.get(request_id);
      if (!slots || order === undefined) return;
      slots.orders.delete(request_id);
      slots.tasks.delete(order);
      if (slots.orders.size === 0) agents.delete(agent_id);
    },
    list(agent_id, after, limit) {
      const slots = agents.get(agent_id);
      const found: { request_id: string; position: string }[] = [];
      let pair = slots?.tasks.nextHigherPair(after === undefined ? undefined : Number(after));
      while (slots && pair && found.length < limit) {
        found.push({ request_id: pair[1], position: String(pair[0]) });
        pair = slots.tasks.nextHigherPair(pair[0]);
      }
      return found;
    },
  };
}
