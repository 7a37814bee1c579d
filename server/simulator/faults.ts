/**
 * Makes the faults of a world happen: what goes wrong, for which operation, and how often. The faults are
 * wrapped around operations and store, so all else is the gateway's own code.
 *
 *   before the operation   unauthorized, too_many_streams, busy, no_response, delay
 *   behind it              lose_response (it was done, and the caller does not learn of it)
 *   in a stream            cut_stream, repeat_event
 *   in the store           store_outage
 */
import type { Surroundings } from '../http/api.ts';
import { CallerGone, Problem } from '../http/problems.ts';
import type { OperationId } from '../http/request/contract.ts';
import { signalLeft } from '../http/response/left.ts';
import type { EventSource } from '../http/stream/event-frames.ts';
import type { Clock } from '../ports/clock.ts';
import { type Store, StoreUnavailable } from '../ports/store.ts';
import type { AddedFault, Fault, FaultName, Faults } from './fault.ts';
import { requireValid } from './given-values.ts';

/** The caller gets no response: its connection ends. */
export class NoResponse extends CallerGone {
  override readonly name = 'NoResponse';
}

/** The faults of a world, and the wrappers through which they happen. */
export type FaultStage = Faults & {
  readonly surroundings: Surroundings;
  surroundStore(store: Store): Store;
};

/** A fault that was added and may still happen. */
type Placed = { readonly fault: Fault; readonly id: string; happened: number };

/** The faults of a world, the oldest first. */
type PlacedFaults = {
  readonly list: () => readonly Placed[];
  /** Finds the oldest fault with one of these names that affects the operation. */
  find(names: readonly FaultName[], operation?: OperationId): Placed | undefined;
  /** Counts that a fault happens, and removes it after its last time. */
  happen(one: Placed): Fault;
  /** Finds a fault as `find()` does, and counts that it happens. */
  take(names: readonly FaultName[], operation?: OperationId): Fault | undefined;
  add(fault: Fault): Placed;
  remove(id: string): boolean;
  clear(): void;
};

function createPlacedFaults(): PlacedFaults {
  let placed: readonly Placed[] = [];
  let count = 0;
  const faults: PlacedFaults = {
    list: () => placed,
    find: (names, operation) =>
      placed.find(
        ({ fault }) =>
          names.includes(fault.fault) && (fault.operation === undefined || fault.operation === operation),
      ),
    happen(one) {
      one.happened += 1;
      if (one.fault.times !== undefined && one.happened >= one.fault.times) faults.remove(one.id);
      return one.fault;
    },
    take(names, operation) {
      const one = faults.find(names, operation);
      return one && faults.happen(one);
    },
    add(fault) {
      count += 1;
      const one: Placed = { fault: Object.assign({}, fault), id: `fault-${count}`, happened: 0 };
      placed = [...placed, one];
      return one;
    },
    remove(id) {
      const before = placed.length;
      placed = placed.filter((one) => one.id !== id);
      return placed.length < before;
    },
    clear() {
      placed = [];
    },
  };
  return faults;
}

export function createFaults(clock: Clock): FaultStage {
  const placed = createPlacedFaults();
  const streams = createFaultyStreams(placed);
  const describe = ({ fault, id, happened }: Placed): AddedFault =>
    Object.assign({}, fault, { id, happened });

  return {
    add(fault) {
      requireValid('Fault', fault);
      const one = placed.add(fault);
      const { after_events = 0, after_bytes } = fault;
      if (fault.fault === 'cut_stream' && after_events === 0 && after_bytes === undefined) {
        streams.cutOpen(one);
      }
      return describe(one);
    },
    list: () => placed.list().map(describe),
    remove: placed.remove,
    clear: placed.clear,
    surroundings: {
      async call(name, ctx, next) {
        const delay = placed.take(['delay'], name);
        if (delay) await clock.sleep((delay.seconds ?? 1) * 1_000, signalLeft(ctx.res));
        const fault = placed.take(['no_response', 'unauthorized', 'busy', 'too_many_streams'], name);
        if (fault) throw describeFailure(fault);
        const refusal = await next().then(
          () => null,
          (error: unknown) => ({ error }),
        );
        if (placed.take(['lose_response'], name)) throw new NoResponse('The fault lose_response.');
        if (refusal) throw refusal.error;
      },
      events: streams.surround,
    },
    surroundStore: (store) => surroundStore(store, () => placed.take(['store_outage'])),
  };
}

/** An open stream. `cut` ends it, even while it waits. */
type OpenSource = { readonly operation: OperationId; readonly cut: () => void };

/** Makes the faults of streams happen. */
function createFaultyStreams({ list, find, happen, take }: PlacedFaults) {
  const open = new Set<OpenSource>();

  async function* read(frames: AsyncIterable<Buffer>, operation: OperationId): AsyncGenerator<Buffer> {
    const cut = Promise.withResolvers<never>();
    cut.promise.catch(() => undefined);
    const source: OpenSource = { operation, cut: () => cut.reject(new NoResponse('The stream was cut.')) };
    open.add(source);
    const reader = frames[Symbol.asyncIterator]();
    let events = 0;
    let bytes = 0;
    try {
      for (;;) {
        const fault = find(['cut_stream'], operation);
        const { after_events = 0, after_bytes } = fault?.fault ?? {};
        const isOver = after_bytes === undefined ? events >= after_events : bytes >= after_bytes;
        if (fault && isOver) {
          happen(fault);
          throw new NoResponse('The stream was cut.');
        }
        const next = await Promise.race([reader.next(), cut.promise]);
        if (next.done) return;
        const isRepeated = take(['repeat_event'], operation) !== undefined;
        for (const frame of isRepeated ? [next.value, next.value] : [next.value]) {
          const left = after_bytes === undefined ? frame.length : Math.max(0, after_bytes - bytes);
          yield frame.subarray(0, left);
          bytes += Math.min(left, frame.length);
        }
        events += 1;
      }
    } finally {
      open.delete(source);
      // Not awaited, because it ends only with the signal, after the stream.
      void reader.return?.();
    }
  }

  return {
    /** Cuts open streams that the fault affects, as often as the fault may happen. */
    cutOpen(one: Placed): void {
      for (const source of open) {
        const { operation } = one.fault;
        if (!list().includes(one)) return;
        if (operation !== undefined && operation !== source.operation) continue;
        happen(one);
        source.cut();
      }
    },
    surround: (operation: OperationId, { of, open: openSource }: EventSource): EventSource => ({
      of,
      open: (signal) => read(openSource(signal), operation),
    }),
  };
}

/** Describes the failure of a call. `retry_after` replaces the problem's own value. */
function describeFailure({ fault, retry_after }: Fault): Error {
  const code = fault as keyof typeof PROBLEMS;
  const known = PROBLEMS[code];
  if (!known) return new NoResponse(`The fault ${fault}.`);
  const retry = retry_after === undefined ? {} : { 'Retry-After': String(retry_after) };
  return new Problem(code, `A fault of the simulator: ${known.says}.`, {
    headers: { ...known.headers, ...retry },
  });
}

const PROBLEMS: Readonly<
  Record<'unauthorized' | 'too_many_streams' | 'busy', { readonly says: string; readonly headers?: object }>
> = {
  unauthorized: { says: 'no secret is right', headers: { 'WWW-Authenticate': 'Bearer' } },
  too_many_streams: { says: 'too many streams' },
  busy: { says: 'the gateway is busy' },
};

/** Wraps the store so that its calls fail during a `store_outage`. */
function surroundStore(store: Store, takeOutage: () => Fault | undefined): Store {
  const failing = new Set<keyof Store>([
    ...(['get', 'getForCommit', 'getAgentStatus', 'list', 'listClaimable', 'findSlots'] as const),
    ...([
      'commit',
      'appendOutput',
      'readOutput',
      'takeDue',
      'touch',
      'readAgentChanges',
      'readCounts',
      'readActivity',
      'readEnded',
    ] as const),
  ]);
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const own = target[name];
      if (!failing.has(name)) return own;
      return (...values: never[]) => {
        if (takeOutage()) return Promise.reject(new StoreUnavailable('A fault of the simulator.'));
        return (own as (...values: never[]) => unknown)(...values);
      };
    },
  });
}
