/**
 * All that this process sees of agents as it happens, and keeps in memory for administrators. It sees by
 * taking the place of the store and of the observer: every call goes through it, and none waits for it.
 */
import type { Observer } from '../../ports/observer.ts';
import type { Store } from '../../ports/store.ts';
import { type ContactStrips, createContactStrips } from './contact-strips.ts';
import { createPushRecords, type PushRecords } from './push-records.ts';
import { createUntakenTasks, type UntakenTasks } from './untaken-tasks.ts';

/** The observations of this process, for administrators. */
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

/** The same store; each contact of an agent that exists is noted. Anyone may name one that does not. */
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

/** The same observer; what is seen of tasks and registrations is noted too. */
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
