/** A whole gateway in one process, whose time, randomness and network the test controls. */

import { createLargeWork, type LargeWork } from '../../server/async/large-work.ts';
import { createPace } from '../../server/async/pace.ts';
import { createGateway, type Duties } from '../../server/gateway/gateway.ts';
import type { ConsoleMode } from '../../server/ports/admin.ts';
import type { Figures } from '../../server/ports/figures.ts';
import type { Gateway, Registration, Submission } from '../../server/ports/gateway.ts';
import type { Observer } from '../../server/ports/observer.ts';
import type { Store } from '../../server/ports/store.ts';
import { type FakeClock, flushMicrotasks } from './fake-clock.ts';
import { createFakePusher, type FakePusher } from './fake-pusher.ts';
import { SILENT, UNOBSERVED } from './silent-log.ts';

export type World = {
  readonly clock: FakeClock;
  readonly pusher: FakePusher;
  readonly gateway: Gateway;
  readonly duties: Duties;
  readonly figures: Figures;
  readonly store: Store;
  /** Runs the duties until nothing is due and no work is under way. */
  runUntilIdle(): Promise<void>;
  /**
   * Advances the clock in steps. At each it renews leases and takes what is due, like the running gateway.
   */
  pass(ms: number): Promise<void>;
};

/** If one moment takes more turns, an entry becomes due again and again without effect. */
const TURNS_MAX = 500;

export type WorldOptions = {
  readonly clock: FakeClock;
  readonly openTasksMax?: number;
  readonly agentsMax?: number;
  /** How many bytes of memory all agents may take. */
  readonly agentBytesMax?: number;
  /** How many pushes may be under way at once; one origin may have half of them. */
  readonly pushesMax?: number;
  readonly keepTasksMs?: number;
  readonly pusher?: FakePusher;
  /**
   * The source of ids. A world that continues after a crash uses that of the world before, so that no id
   * repeats.
   */
  readonly ids?: Ids;
  readonly observer?: Observer;
  readonly consoleMode?: ConsoleMode;
  readonly largeWork?: LargeWork;
};

export type Ids = { newRequestId(): string; newRegistration(): string };

/** Creates ids that count up. */
export function countIds(): Ids {
  let ids = 0;
  const newId = (kind: string): string => {
    ids += 1;
    return `${kind}-${String(ids).padStart(6, '0')}`;
  };
  return { newRequestId: () => newId('task'), newRegistration: () => newId('registration') };
}

/** Creates a gateway on the store. Each random number is one half. */
export function createWorld(store: Store, options: WorldOptions): World {
  const { clock } = options;
  const pusher = options.pusher ?? createFakePusher();
  const { gateway, duties, figures } = createGateway({
    store,
    clock,
    pusher,
    ids: options.ids ?? countIds(),
    random: () => 0.5,
    keepPace: createPace(() => 0),
    log: { ...SILENT, error: (fields, message) => console.error(message, fields) },
    observer: options.observer ?? UNOBSERVED,
    limits: {
      timeoutMaxMs: 7 * 24 * 3_600_000,
      openTasksMax: options.openTasksMax ?? 1_000,
      keepKeysMs: 24 * 3_600_000,
      agentsMax: options.agentsMax ?? 1_000,
      pushesMax: options.pushesMax ?? 1_000,
      ...(options.agentBytesMax !== undefined && { agentBytesMax: options.agentBytesMax }),
    },
    retention: {
      keepTasksMs: options.keepTasksMs ?? 24 * 3_600_000,
      sessionEventsMax: 100_000,
      outputBytesMax: 2 ** 28,
    },
    largeWork: options.largeWork ?? createLargeWork(),
    overviewSettings: {
      storeKind: 'memory',
      consoleMode: options.consoleMode ?? 'on',
      isSecretPublic: false,
      isMetricsPublic: false,
    },
  });

  async function runUntilIdle(): Promise<void> {
    for (let ticks = 0; ticks < TURNS_MAX; ticks += 1) {
      await flushMicrotasks();
      if ((await clock.drive(duties.runDuePass())) === 0) return await flushMicrotasks();
    }
    const due = (await store.takeDue(10)).map(({ ref }) => ref).join(', ');
    throw new Error(`The duties found work ${TURNS_MAX} times in a row without time passing: ${due}`);
  }

  return {
    clock,
    pusher,
    gateway,
    duties,
    figures,
    store,
    runUntilIdle,
    async pass(ms) {
      const STEP_MS = 400;
      for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
        await clock.advance(Math.min(STEP_MS, leftMs));
        await duties.renewLeases();
        await duties.stopMovablePushes();
        await runUntilIdle();
      }
    },
  };
}

/** Builds a valid submission; `more` overrides its fields. */
export function buildSubmission(more: Partial<Submission> = {}): Submission {
  return {
    task_type: 't',
    task_tags: ['a'],
    payload: { text: '你好' },
    cli_session_id: 's',
    timeout: 600,
    ...more,
  };
}

/** Builds a valid registration; `more` overrides its fields. The endpoint is named after the agent. */
export function buildRegistration(agent_id: string, more: Partial<Registration> = {}): Registration {
  return {
    agent_id,
    endpoint: `http://${agent_id}.test/tasks`,
    agent_tags: ['a'],
    max_concurrent: 1,
    current_load: 0,
    ...more,
  };
}

/** A signal that never fires. */
export const NEVER: AbortSignal = new AbortController().signal;
