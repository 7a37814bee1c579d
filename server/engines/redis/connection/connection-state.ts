/**
 * Keeps the connection to Redis: opens one at a time, gives it up, opens the next. A connection is a pair of
 * physical connections, one for calls and one for notifications. Both are opened together and given up
 * together, so a store that can call also receives notifications. If one breaks or stops responding, both are
 * down.
 *
 * Callers can rely on this: messages that were published while the pair was up arrive in the order of
 * publishing, or the pair goes down. A message may arrive before or after the reply to a later command. So
 * every reader first listens, then reads, and reads again after each notification. After the pair was down,
 * `onReopened` notifies all listeners, so that each reads on from its cursor.
 *
 *    start()
 *       |
 *       v          cannot succeed, or failed for 10 s
 *    opening ------------------------------------------> start() rejects
 *       |  (failed: tried again)
 *       |
 *       | ready
 *       v                 lost, or goDown()
 *      up -----------------------------------> down
 *       ^                                       |  (failed: tried again after 20 to 400 ms)
 *       |            ready: onReopened()        |
 *       +---------------------------------------+
 *
 *    close() leads from every mode to closed, which is final. From up it first waits for the calls under way.
 *
 *    Mode      requireUp()                                       left
 *    opening   throws that the store is being opened             when a connection is ready
 *    up        returns the connection; after close() throws      when the connection is lost or given up
 *    down      throws why, without an address                    when a connection to the same store is ready
 *    closed    throws that the store is closed                   never
 */
import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../async/error-message.ts';
import { waitAtMost } from '../../../async/waiting.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { StoreUnavailable } from '../../../ports/store.ts';
import type { ConnectOptions, RedisClient } from '../client/client.ts';
import { explainOutage, isPermanent, needsPerson } from '../client/failures.ts';
import type { Barrier } from './barrier.ts';

/** A connection that is ready, and the epoch of its store. */
export type Opened = {
  readonly client: RedisClient;
  /** The connection that receives notifications. */
  readonly notifications: RedisClient;
  readonly barrier: Barrier;
  readonly epoch: string;
};

export type OpenOptions = Omit<ConnectOptions, 'use'> & {
  /** Called when Redis has replied to a step. */
  readonly onReply: () => void;
};

export type ConnectionStateDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Opens a connection to the store with this epoch (empty: any store) and makes it ready. Rejects if it is
   * unusable.
   */
  open(epoch: string, options: OpenOptions): Promise<Opened>;
  onLost(outage: StoreUnavailable): void;
  /** Called when there is a connection again after a loss. */
  onReopened(): void;
};

export type ConnectionState = {
  /** Opens the first connection. Rejects if that fails. */
  start(): Promise<void>;
  /** Returns the connection in use. Throws `StoreUnavailable` in every mode but up. */
  requireUp(): Opened;
  /** Why there is no connection; null when there is one. */
  outage(): StoreUnavailable | null;
  /** Gives up the connection in use. In any mode but up it does nothing. */
  goDown(reason: unknown): void;
  /** Resolves with true when there is a connection, or with false at that monotonic time. */
  isUpBy(untilMs: number): Promise<boolean>;
  /** The unique name of the connection in use, or of the last one. */
  clientId(): string;
  /** Refuses new calls, waits for `whenIdle`, and closes. */
  close(whenIdle: () => Promise<void>): Promise<void>;
  /** Fires when the mode becomes closed. */
  readonly closed: AbortSignal;
};

/**
 * An attempt to open a connection is given up when Redis has not replied to a step for this long. The steps
 * together may take longer, on a slow network or a busy machine: an attempt given up halfway would only begin
 * again at the first step.
 */
const SILENT_MAX_MS = 2_000;
/**
 * The first connection is tried for this long, because a store that starts together with its gateways may be
 * ready later.
 */
const FIRST_WITHIN_MS = 10_000;
const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 400;
const OPENING = new StoreUnavailable('The store is being opened.', { kind: 'starting' });
const CLOSED = new StoreUnavailable('The store is closed.', { kind: 'closed' });

type State =
  | { readonly mode: 'up'; readonly opened: Opened; readonly clientId: string }
  | {
      readonly mode: 'opening' | 'down' | 'closed';
      readonly clientId: string;
      readonly outage: StoreUnavailable;
    };

export function createConnectionState(deps: ConnectionStateDeps): ConnectionState {
  const { clock } = deps;
  const closing = new AbortController();
  let state: State = { mode: 'opening', clientId: '', outage: OPENING };
  let epoch = '';
  let isClosing = false;
  const lossLog = createLossLog(deps);
  /** Resolves when there is a connection, or when the mode is closed. */
  let upOrClosed = Promise.withResolvers<void>();

  async function goUp(): Promise<void> {
    const { opened, gone } = await openUnlessSilent(deps, epoch, closing.signal);
    gone.throwIfAborted();
    if (isClosing) return destroyAll(opened);
    gone.addEventListener('abort', () => {
      if (state.mode === 'up' && state.opened === opened) goDown(gone.reason);
    });
    epoch = opened.epoch;
    state = { mode: 'up', opened, clientId: randomBytes(9).toString('base64url') };
    upOrClosed.resolve();
  }

  function goDown(reason: unknown): void {
    if (state.mode !== 'up') return;
    const { opened } = state;
    const outage = explainOutage(reason);
    state = { mode: 'down', clientId: state.clientId, outage };
    upOrClosed = Promise.withResolvers();
    destroyAll(opened);
    deps.onLost(outage);
    lossLog.noteLost({ reason: messageOf(reason), peer: opened.client.peer });
    void reopen();
  }

  async function reopen(): Promise<void> {
    for (let pauseMs = PAUSE_MIN_MS; state.mode === 'down'; pauseMs = Math.min(PAUSE_MAX_MS, 2 * pauseMs)) {
      await clock.sleep(pauseMs, closing.signal);
      if (isClosing) return;
      await goUp().catch(noteFailure);
    }
    if (isClosing) return;
    lossLog.noteReopened();
    deps.onReopened();
  }

  function noteFailure(error: unknown): void {
    if (state.mode !== 'down') return;
    state = { ...state, outage: explainOutage(error) };
    lossLog.noteFailure(error);
  }

  async function close(whenIdle: () => Promise<void>): Promise<void> {
    isClosing = true;
    if (state.mode === 'up') await whenIdle();
    const last: State = state;
    state = { mode: 'closed', clientId: last.clientId, outage: CLOSED };
    closing.abort('closing');
    upOrClosed.resolve();
    if (last.mode === 'up') destroyAll(last.opened);
  }

  return {
    start: () => tryFirst(goUp, clock),
    requireUp() {
      if (state.mode !== 'up') throw state.outage;
      if (isClosing) throw CLOSED;
      return state.opened;
    },
    outage: () => (state.mode === 'up' ? null : state.outage),
    goDown,
    async isUpBy(untilMs) {
      await waitAtMost(clock, untilMs - clock.monotonicMs(), upOrClosed.promise);
      return state.mode === 'up' && clock.monotonicMs() < untilMs;
    },
    clientId: () => state.clientId,
    close,
    closed: closing.signal,
  };
}

function destroyAll({ client, notifications }: Opened): void {
  client.destroy();
  notifications.destroy();
}

/** Opens a connection, and gives up when Redis is silent. `gone` fires when the connection is lost. */
async function openUnlessSilent(
  { clock, open }: ConnectionStateDeps,
  epoch: string,
  closing: AbortSignal,
): Promise<{ readonly opened: Opened; readonly gone: AbortSignal }> {
  const ready = new AbortController();
  const late = new AbortController();
  const gone = new AbortController();
  const onGone = (reason: string): void => gone.abort(new Error(reason));
  let repliedMs = clock.monotonicMs();
  const onReply = (): void => {
    repliedMs = clock.monotonicMs();
  };
  void waitForSilence(clock, () => repliedMs, ready.signal).then(() => late.abort());
  try {
    const opened = await open(epoch, { onGone, onReply, signal: AbortSignal.any([late.signal, closing]) });
    if (gone.signal.aborted) destroyAll(opened);
    return { opened, gone: gone.signal };
  } finally {
    ready.abort();
  }
}

/** Resolves when the last reply came `SILENT_MAX_MS` ago, or when the signal fires. */
async function waitForSilence(clock: Clock, repliedMs: () => number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const leftMs = repliedMs() + SILENT_MAX_MS - clock.monotonicMs();
    if (leftMs <= 0 || signal.aborted) return;
    await clock.sleep(leftMs, signal);
  }
}

async function tryFirst(goUp: () => Promise<void>, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + FIRST_WITHIN_MS;
  for (;;) {
    try {
      return await goUp();
    } catch (error) {
      if (isPermanent(error) || clock.monotonicMs() >= untilMs) throw error;
      await clock.sleep(PAUSE_MAX_MS);
    }
  }
}

/**
 * Logs the loss of the connection, its return, and why attempts fail. A reason is logged as an error if a
 * person must act, otherwise at `debug`; repeats of the last reason are not logged. The log may name
 * addresses.
 */
function createLossLog({ log }: ConnectionStateDeps) {
  let lastReason = '';
  return {
    noteLost(fields: object): void {
      lastReason = '';
      log.error(fields, 'the connection to Redis was lost');
    },
    noteFailure(error: unknown): void {
      const reason = messageOf(error);
      if (reason !== lastReason)
        log[needsPerson(error) ? 'error' : 'debug']({ reason }, 'Redis is not available');
      lastReason = reason;
    },
    noteReopened: (): void => log.info({}, 'the connection to Redis was opened again'),
  };
}
