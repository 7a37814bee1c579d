/**
 * What this process sees of agents, kept in memory for administrators. Store and observer are wrapped: each
 * call passes through the wrapper, which notes it and makes nothing wait.
 */
import type { Observer } from '../../ports/observer.ts';
import type { Store } from '../../ports/store.ts';
import { type ContactStrips, createContactStrips } from './contact-strips.ts';
import { createPushRecords, type PushRecords } from './push-records.ts';
import { createUntakenTasks, type UntakenTasks } from './untaken-tasks.ts';

export type Seen = {
  readonly pushRecords: PushRecords;
  readonly contactStrips: ContactStrips;
  readonly untakenTasks: UntakenTasks;
};

export function createSeen(store: Store): Seen {
  return {
    pushRecords: createPushRecords(),
    contactStrips: createContactStrips(),
    untakenTasks: createUntakenTasks(store),
  };
}

/**
 * Wraps the store to note each contact of an existing agent. Other ids are left out: anyone may name them.
 */
export function noteTouches(store: Store, contactStrips: ContactStrips): Store {
  return {
    ...store,
    touch(agent_id, touch) {
      const nowMs = store.nowMs();
      return store.touch(agent_id, touch).then((record) => {
        if (record) contactStrips.noteTouch(agent_id, touch, nowMs);
        return record;
      });
    },
  };
}

/** Wraps the observer to note what happens to tasks and registrations. */
export function noteEvents(
  observer: Observer,
  store: Pick<Store, 'nowMs'>,
  { contactStrips, untakenTasks }: Seen,
): Observer {
  return {
    ...observer,
    noteStep(step) {
      untakenTasks.noteStep(step);
      observer.noteStep(step);
    },
    noteAgent(change, record) {
      if (change === 'registered') contactStrips.noteContact(record.agent_id, store.nowMs());
      observer.noteAgent(change, record);
    },
  };
}
