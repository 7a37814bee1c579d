/** The faults of a world as a test adds them. `faults.ts` has them happen. */

/** The names. If another one is given, the error lists them. */
export const FAULTS = [
  'unauthorized',
  'too_many_streams',
  'busy',
  'no_response',
  'delay',
  'lose_response',
  'cut_stream',
  'repeat_event',
  'store_outage',
] as const;

export type FaultName = (typeof FAULTS)[number];

/** The operations that a fault may be about: those of the gateway's document. */
export const OPERATIONS = [
  'submitTask',
  'getTask',
  'explainTask',
  'previewMatch',
  'cancelTask',
  'subscribeEvents',
  'registerAgent',
  'heartbeatAgent',
  'claimTask',
  'reportResult',
  'unregisterAgent',
  'listAgents',
  'getAgent',
  'listTasks',
  'getOverview',
  'cancelTasks',
] as const;

export type FaultyOperation = (typeof OPERATIONS)[number];

/** A fault to add. */
export type Fault = {
  readonly fault: FaultName;
  /** The operation that it is about; default: each. An outage of the store is about none. */
  readonly operation?: FaultyOperation | undefined;
  /** How often it happens; default: until it is removed. */
  readonly times?: number | undefined;
  /** Seconds of the world's time: of a `delay`, how long the call waits. Default 1. */
  readonly seconds?: number | undefined;
  /** Of `busy` and `too_many_streams`: the `Retry-After`, in seconds. */
  readonly retry_after?: number | undefined;
  /** Of `cut_stream`: how many events still arrive. Default 0: open streams are cut at once. */
  readonly after_events?: number | undefined;
  /** Of `cut_stream`, in place of events: how many bytes of events still arrive. */
  readonly after_bytes?: number | undefined;
};

/** An added fault, and how often it has happened. */
export type AddedFault = Fault & { readonly id: string; readonly happened: number };

export type Faults = {
  add(fault: Fault): AddedFault;
  list(): readonly AddedFault[];
  /** Removes one; false if there is none of this id. */
  remove(id: string): boolean;
  clear(): void;
};
