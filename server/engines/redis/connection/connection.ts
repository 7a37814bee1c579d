/**
 * Calls to Redis over one connection at a time (`connection-state.ts` keeps it).
 *
 * Promises
 * - A call is sent once and gets its reply within `TIME_BUDGETS.storeWithinMs`, or rejects with
 *   `StoreUnavailable`. No call is queued for later, so a rejected call is not sent afterwards.
 * - If the connection breaks before the reply comes, the effect of the call is unknown. A repeatable call
 *   is sent again on the next connection if that is ready within three seconds.
 * - When the connection is lost, or the oldest call gets no reply in time, every call under way rejects at
 *   once. New calls are refused until a new connection to the same store is ready.
 * - A Redis that replies but takes no writes (its disk fails, or its replica is missing) is up and not
 *   healthy. A Redis with full memory still takes what ends a task or frees memory, so it is healthy.
 * - The arguments of all calls under way have at most `ARGUMENT_BYTES_MAX`. A call beyond that is refused
 *   before it is sent, so that a slow Redis does not fill the memory of the gateway.
 */
import { createDeadlineSet, type DeadlineSet } from '../../../async/deadline-set.ts';
import { waitAtMost } from '../../../async/waiting.ts';
import { TIME_BUDGETS } from '../../../ports/limits.ts';
import type { Log } from '../../../ports/log.ts';
import { StoreRefused, StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { explainCallFailure, ReplyLost, replyLost } from '../client/failures.ts';
import { runScript, type Script } from '../scripts.ts';
import { type Barrier, NO_BARRIER } from './barrier.ts';
import {
  type ConnectionState,
  type ConnectionStateDeps,
  createConnectionState,
  type Opened,
} from './connection-state.ts';

export type Connection = {
  /** Runs a script; `args` follow the epoch and the time. */
  call(script: Script, args: readonly string[]): Promise<Reply>;
  /** Runs an idempotent script, and sends it again when its reply is lost. */
  callRepeatable(script: Script, args: readonly string[]): Promise<Reply>;
  /** Sends a command that only reads. Nothing checks that the store is still the same. */
  read(command: readonly string[]): Promise<Reply>;
  /** Looks at the server itself. If the look takes too long or a reply is lost, the connection goes down. */
  inspect(look: (opened: Opened) => Promise<void>): Promise<void>;
  /** Throws `StoreUnavailable` while there is no connection. */
  requireUp(): void;
  health(): { readonly ok: true } | { readonly ok: false; readonly outage: StoreUnavailable };
  /** The unique name of the connection in use, or of the last one. */
  clientId(): string;
  /** Waits for the calls under way, then closes the connection. Idempotent. */
  close(): Promise<void>;
};

export type ConnectionDeps = Omit<ConnectionStateDeps, 'onLost'> & {
  /** The names of all keys begin with this. */
  readonly prefix: string;
  /** The time argument of each script (`store-time.ts`). */
  timeArgument(): string;
};

/** A call whose reply was lost is sent again at most this long after it began. */
const RETRY_WITHIN_MS = 3_000;
/** All calls under way together send at most this. */
const ARGUMENT_BYTES_MAX = 64 * 2 ** 20;

export async function openConnection(deps: ConnectionDeps): Promise<Connection> {
  const state = createConnectionState({
    ...deps,
    onLost: (outage) => underWay.rejectAll(replyLost(outage)),
  });
  const underWay = createDeadlineSet({
    clock: deps.clock,
    withinMs: TIME_BUDGETS.storeWithinMs,
    onLate: () => state.goDown(`it has not replied for ${TIME_BUDGETS.storeWithinMs / 1_000} s`),
    signal: state.closed,
  });
  const { writeFailure, ...calls } = createCalls(deps, state, underWay);
  await state.start();
  let closed: Promise<void> | null = null;
  return {
    ...calls,
    callRepeatable: (script, args) => callWithRetry(deps, state, () => calls.call(script, args)),
    requireUp: () => void state.requireUp(),
    health() {
      const outage = state.outage() ?? writeFailure();
      return outage === null ? { ok: true } : { ok: false, outage };
    },
    clientId: state.clientId,
    close() {
      closed ??= state.close(underWay.whenOver);
      return closed;
    },
  };
}

type Calls = Pick<Connection, 'call' | 'read' | 'inspect'> & {
  /** Why the last write on this connection failed; null if it succeeded. */
  writeFailure(): StoreUnavailable | null;
};

function createCalls(deps: ConnectionDeps, state: ConnectionState, underWay: DeadlineSet): Calls {
  const argumentBytes = createArgumentCount();
  const writes = createWriteLog(deps.log, state);

  /** Waits for a reply and for the barrier, and explains failures. */
  async function receive<T>(replied: Promise<T>, barrier: Barrier): Promise<T> {
    try {
      return await underWay.run(passBarrier(replied, barrier));
    } catch (error) {
      const { error: explained, lostBecause } = explainCallFailure(error);
      // A call can fail before the connection reports that it is lost.
      if (lostBecause !== null) state.goDown(lostBecause);
      throw explained;
    }
  }

  return {
    async call(script, args) {
      const { client, barrier, epoch } = state.requireUp();
      const release = argumentBytes.take(args);
      const noteResult = writes.begin(script);
      try {
        const allArgs = ['1', deps.prefix, epoch, deps.timeArgument(), ...args];
        const reply = await receive(runScript(client, script, allArgs), barrier);
        noteResult(null);
        return reply;
      } catch (error) {
        noteResult(error);
        throw error;
      } finally {
        release();
      }
    },
    async read(command) {
      const { client, barrier } = state.requireUp();
      return await receive(client.send(command), barrier);
    },
    async inspect(look) {
      const opened = state.requireUp();
      await receive(look(opened), NO_BARRIER);
    },
    writeFailure: writes.failure,
  };
}

/** Counts the bytes of the arguments under way. `take` throws if they would be too many. */
function createArgumentCount(): { take(args: readonly string[]): () => void } {
  let used = 0;
  return {
    take(args) {
      let bytes = 0;
      for (const arg of args) bytes += Buffer.byteLength(arg);
      if (used > 0 && used + bytes > ARGUMENT_BYTES_MAX)
        throw new StoreRefused('Redis is slow: too many bytes are on their way to it already.');
      used += bytes;
      return () => {
        used -= bytes;
      };
    },
  };
}

type WriteLog = {
  /** Returns a function to call at the end of a call of the script. */
  begin(script: Script): (error: unknown) => void;
  /** Why the last write on the connection in use failed; null if it succeeded. */
  failure(): StoreUnavailable | null;
};

/** Remembers whether Redis takes writes, and logs when that changes. */
function createWriteLog(log: Log, state: ConnectionState): WriteLog {
  let last: { readonly clientId: string; readonly failure: StoreUnavailable | null } | null = null;
  const failure = (): StoreUnavailable | null => (last?.clientId === state.clientId() ? last.failure : null);
  return {
    begin(script) {
      const clientId = state.clientId();
      return (error) => {
        if (!script.endsOrFrees || (error !== null && !(error instanceof StoreUnavailable))) return;
        // A lost connection is logged as such elsewhere.
        if (error instanceof ReplyLost || clientId !== state.clientId() || state.outage() !== null) return;
        if (error !== null && failure() === null) log.error({ err: error }, 'Redis takes no writes');
        if (error === null && failure() !== null) log.info({}, 'Redis takes writes again');
        last = { clientId, failure: error };
      };
    },
    failure,
  };
}

/**
 * Sends a call again when its reply was lost. All attempts together have no more time than one call. If a
 * reply comes later, its caller is gone, so all listeners are notified and look for changes themselves.
 */
async function callWithRetry(
  { clock, onReopened }: Pick<ConnectionDeps, 'clock' | 'onReopened'>,
  state: ConnectionState,
  call: () => Promise<Reply>,
): Promise<Reply> {
  const beganMs = clock.monotonicMs();
  const untilMs = beganMs + TIME_BUDGETS.storeWithinMs;
  const callInTime = async (): Promise<Reply> => {
    const replied = call().then((reply) => ({ reply }));
    const result = await waitAtMost(clock, untilMs - clock.monotonicMs(), replied);
    if (result !== 'late') return result.reply;
    replied.then(onReopened, () => undefined);
    throw new StoreUnavailable('Redis is not available: it has not replied in time.');
  };
  let attempt = call();
  for (;;) {
    try {
      return await attempt;
    } catch (error) {
      if (!(error instanceof ReplyLost) || !(await state.isUpBy(beganMs + RETRY_WITHIN_MS))) throw error;
    }
    attempt = callInTime();
  }
}

async function passBarrier<T>(replied: Promise<T>, barrier: Barrier): Promise<T> {
  const reply = await replied;
  if (barrier !== NO_BARRIER) await barrier.pass();
  return reply;
}
