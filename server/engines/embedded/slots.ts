/** The slots agents hold: by agent, oldest grant first. They belong to the agent's id and outlive its record. */
import BTreeModule from 'sorted-btree';

const BTree = BTreeModule.default;

type Held = {
  readonly orders: Map<string, number>;
  readonly ids: InstanceType<typeof BTree<number, string>>;
};

export type Slots = {
  count(agentId: string): number;
  has(agentId: string, id: string): boolean;
  /** Twice is harmless: a slot keeps its place. */
  grant(agentId: string, id: string): void;
  release(agentId: string, id: string): void;
  /** Slots of an agent, oldest grant first, from behind a place on. */
  list(
    agentId: string,
    after: string | undefined,
    limit: number,
  ): readonly { readonly request_id: string; readonly place: string }[];
};

/** Creates an empty set of slots. */
export function createSlots(): Slots {
  const agents = new Map<string, Held>();
  let grants = 0;

  return {
    count: (agentId) => agents.get(agentId)?.orders.size ?? 0,
    has: (agentId, id) => agents.get(agentId)?.orders.has(id) ?? false,
    grant(agentId, id) {
      const held = agents.get(agentId) ?? { orders: new Map(), ids: new BTree<number, string>() };
      if (held.orders.has(id)) return;
      grants += 1;
      held.orders.set(id, grants);
      held.ids.set(grants, id);
      agents.set(agentId, held);
    },
    release(agentId, id) {
      const held = agents.get(agentId);
      const order = held?.orders.get(id);
      if (!held || order === undefined) return;
      held.orders.delete(id);
      held.ids.delete(order);
      if (held.orders.size === 0) agents.delete(agentId);
    },
    list(agentId, after, limit) {
      const held = agents.get(agentId);
      const found: { request_id: string; place: string }[] = [];
      let pair = held?.ids.nextHigherPair(after === undefined ? undefined : Number(after));
      while (held && pair && found.length < limit) {
        found.push({ request_id: pair[1], place: String(pair[0]) });
        pair = held.ids.nextHigherPair(pair[0]);
      }
      return found;
    },
  };
}
