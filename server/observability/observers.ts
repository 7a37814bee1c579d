/**
 * Joins several observers to one. It also wraps two ports, so that observers learn when a commit or a push
 * ends.
 */
import type { Clock } from '../ports/clock.ts';
import type { CommitEnd, EndedPush, Observer } from '../ports/observer.ts';
import type { Pusher, PushOutcome } from '../ports/pusher.ts';
import type { Store } from '../ports/store.ts';

/** Joins observers. Each part gets the calls that it has a method for. */
export function joinObservers(parts: readonly Partial<Observer>[]): Observer {
  const listOf = <K extends keyof Observer>(name: K): readonly Observer[K][] =>
    parts.flatMap((part) => (part[name] ? [part[name]] : []));
  const [submitted, steps, agents] = [listOf('noteSubmitted'), listOf('noteStep'), listOf('noteAgent')];
  const [pushes, commits, requests] = [listOf('notePush'), listOf('noteCommit'), listOf('noteRequest')];
  return {
    noteSubmitted(request_id, state, trace) {
      for (const note of submitted) note(request_id, state, trace);
    },
    noteStep(step) {
      for (const note of steps) note(step);
    },
    noteAgent(change, record) {
      for (const note of agents) note(change, record);
    },
    notePush(push) {
      for (const note of pushes) note(push);
    },
    noteCommit(end, ms) {
      for (const note of commits) note(end, ms);
    },
    noteRequest(request) {
      for (const note of requests) note(request);
    },
  };
}

type Deps = { readonly clock: Clock; readonly observer: Pick<Observer, 'noteCommit' | 'notePush'> };

/** Wraps the store to report how each commit ends. */
export function observeCommits(store: Store, { clock, observer }: Deps): Store {
  return {
    ...store,
    async commit(batch) {
      const startedMs = clock.monotonicMs();
      let end: CommitEnd = 'unavailable';
      try {
        const result = await store.commit(batch);
        end = result.ok ? 'applied' : 'conflict';
        return result;
      } finally {
        observer.noteCommit(end, clock.monotonicMs() - startedMs);
      }
    },
  };
}

/** Wraps the pusher to report how each attempt ends, except attempts that were stopped. */
export function observePushes<P extends Pusher>(pusher: P, deps: Deps): P {
  return {
    ...pusher,
    push(push, signal, onSent) {
      const { request_id, agent_id } = push.task;
      const { trace } = push;
      const noteEnd = createNoteEnd(deps, { request_id, agent_id, ...(trace && { trace }) }, signal);
      return pusher.push(push, signal, onSent).then(noteEnd);
    },
  };
}

/**
 * A function of its own, so that the closure does not keep the task while the agent works on its response.
 */
function createNoteEnd(
  { clock, observer }: Deps,
  ids: Pick<EndedPush, 'request_id' | 'agent_id' | 'trace'>,
  signal: AbortSignal,
): (outcome: PushOutcome) => PushOutcome {
  const startedMs = clock.monotonicMs();
  return (outcome) => {
    if (!signal.aborted) observer.notePush({ ...ids, outcome, ms: clock.monotonicMs() - startedMs });
    return outcome;
  };
}
