/** The slots agents hold: by agent, oldest grant first. They belong to the agent's id and outlive its record. */
import BTreeModule from 'sorted-btree';

const BTree = BTreeModule.default;

type AgentSlots = {
  readonly orders: Map<string, number>;
  readonly ids: InstanceType<typeof BTree<number, string>>;
};

export type Slots = {
  count(agent_id: string): number;
  has(agent_id: string, id: string): boolean;
  /** Twice is harmless: a slot keeps its place. */
  grant(agent_id: string, id: string): void;
  release(agent_id: string, id: string): void;
  /** Slots of an agent, oldest grant first, from behind a place on. */
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
    has: (agent_id, id) => agents.get(agent_id)?.orders.has(id) ?? false,
    grant(agent_id, id) {
      const held = agents.get(agent_id) ?? { orders: new Map(), ids: new BTree<number, string>() };
      if (held.orders.has(id)) return;
      grants += 1;
      held.orders.set(id, grants);
      held.ids.set(grants, id);
      agents.set(agent_id, held);
    },
    release(agent_id, id) {
      const held = agents.get(agent_id);
      const order = held?.orders.get(id);
      if (!held || order === undefined) return;
      held.orders.delete(id);
      held.ids.delete(order);
      if (held.orders.size === 0) agents.delete(agent_id);
    },
    list(agent_id, after, limit) {
      const held = agents.get(agent_id);
      const found: { request_id: string; position: string }[] = [];
      let pair = held?.ids.nextHigherPair(after === undefined ? undefined : Number(after));
      while (held && pair && found.length < limit) {
        found.push({ request_id: pair[1], position: String(pair[0]) });
        pair = held.ids.nextHigherPair(pair[0]);
      }
      return found;
    },
  };
}
