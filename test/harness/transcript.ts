/** A store that records its calls and their results in order, so that two runs can be compared. */
import type { Store } from '../../server/ports/store.ts';

/**
 * Wraps a store. Every call that returns a promise adds one line when it is made, and one when its promise
 * resolves.
 */
export function recordCalls(store: Store, lines: string[]): Store {
  const recording =
    <Args extends readonly unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      lines.push(`${name} ${JSON.stringify(args)}`);
      try {
        const result = await call(...args);
        lines.push(`${name} = ${JSON.stringify(result)}`);
        return result;
      } catch (error) {
        lines.push(`${name} ! ${error}`);
        throw error;
      }
    };
  return {
    ...store,
    get: recording('get', store.get as (kind: string, id: string) => Promise<unknown>) as Store['get'],
    list: recording('list', store.list as (...args: never) => Promise<unknown>) as Store['list'],
    commit: recording('commit', store.commit),
    listClaimable: recording('listClaimable', store.listClaimable),
    takeDue: recording('takeDue', store.takeDue),
    getAgentStatus: recording('getAgentStatus', store.getAgentStatus),
    readAgentChanges: recording('readAgentChanges', store.readAgentChanges),
    touch: recording('touch', store.touch),
    renewLeases: recording('renewLeases', store.renewLeases),
    trim: recording('trim', store.trim),
  };
}
