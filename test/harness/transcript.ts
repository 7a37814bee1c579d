/** Any store with a record of what was asked of it and what it answered, in order: two runs can be laid side by side. */
import type { Store } from '../../server/ports/store.ts';

/** Wraps a store; every call whose answer is awaited adds one line when it is asked and one when it is answered. */
export function recordCalls(store: Store, lines: string[]): Store {
  const recording =
    <Args extends readonly unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      lines.push(`${name} ${JSON.stringify(args)}`);
      try {
        const answer = await call(...args);
        lines.push(`${name} = ${JSON.stringify(answer)}`);
        return answer;
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
    takeDue: recording('due', store.takeDue),
    getAgentStatus: recording('standing', store.getAgentStatus),
    readAgentChanges: recording('changes', store.readAgentChanges),
    touch: recording('touch', store.touch),
    renewLeases: recording('keep', store.renewLeases),
    trim: recording('trim', store.trim),
  };
}
