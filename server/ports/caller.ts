/** For whom a call is made: callers come in rotation where work waits. */

export type Caller = {
  /** Its remote address or, where that says nothing, its connection. Callers of one key share a place. */
  readonly key: string | object;
  /** Whether it has left, so that nothing more is done for it. */
  isGone(): boolean;
};

/** The caller of a call that names none, such as the gateway's own. */
export const UNNAMED_CALLER: Caller = { key: '', isGone: () => false };
