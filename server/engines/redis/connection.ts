/**
 * The line to Redis: one connection at a time, opened again whenever it is gone.
 *
 * Promises
 * - A call is sent once and answered within 4.5 s or rejected with `StoreUnavailable`; nothing is queued for later, so
 *   what was given up is not sent afterwards.
 * - Where the connection broke before the answer came, nobody knows whether the call had its effect. A call that can be
 *   told from its own repetition is asked again on the next connection, if there is one within three seconds.
 * - When the connection is gone, or has not answered for that long, all that was under way is rejected at once; calls
 *   are refused until a new connection was opened, greeted and found to be to the same store.
 * - Redis that answers but takes no writes (it is full, its replica is away) is up and not healthy.
 * - Modes: up (calls go through) → down (they are refused, the line tries again) → up …; closed ends it.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { type Barrier, NO_BARRIER } from './barrier.ts';
import { createCalls } from './calls.ts';
import { type ConnectOptions, isReply, type RedisClient, type Reply, Unreachable } from './client.ts';
import { UnusableServer } from './durability.ts';
import { runScript, type Script } from './scripts.ts';

export type Connection = {
  /** Runs a script; `args` follow the epoch and the time. */
  call(script: Script, args: readonly string[]): Promise<Reply>;
  /** Runs a script that does nothing when it did all before; where the answer is lost it is asked again. */
  callRepeatable(script: Script, args: readonly string[]): Promise<Reply>;
  /**
   * Reads fields of a hash, by the rest of its key's name. Cheaper than a script, and nobody looks whether the store is
   * still the one it was: what is there is true, and what is not must be asked of a script.
   */
  read(key: string, ...fields: readonly string[]): Promise<readonly (string | null)[]>;
  /** Throws at once while the line is down. */
  requireUp(): void;
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string };
  /** Names the connection that there is, or was last: no other has the same name. */
  generation(): string;
  /** Lets what is under way be answered, then lets go. Twice is fine. */
  close(): Promise<void>;
};

/** A connection that is ready, and the store it leads to. */
export type Opened = { readonly client: RedisClient; readonly barrier: Barrier; readonly epoch: string };

export type ConnectionDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** What the names of all keys begin with. */
  readonly prefix: string;
  /** The time as each script is told it: empty for that of Redis. */
  tellTime(): string;
  /** Opens a connection and makes it ready. Rejects when it is not to be used. */
  open(epoch: string, options: ConnectOptions): Promise<Opened>;
  /** The line is up again after it was down. */
  onBack(): void;
};

/** No answer for so long is an outage. */
export const ANSWER_WITHIN_MS = 4_500;
/** A connection that is not ready by then is given up. */
const READY_WITHIN_MS = 2_000;
/** The first connection is tried for so long. */
const FIRST_WITHIN_MS = 10_000;
/** A call whose answer was lost waits so long, from when it was made, for a connection to ask again on. */
const SETTLE_WITHIN_MS = 3_000;
const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 400;

/** The connection broke before the answer came. */
class AnswerLost extends StoreUnavailable {}

type State =
  | { readonly mode: 'up'; readonly opened: Opened; readonly generation: string }
  | { readonly mode: 'down' | 'closed'; readonly generation: string; readonly reason: string };

/** Opens the line; rejects when the first connection cannot be had. */
export async function openConnection(deps: ConnectionDeps): Promise<Connection> {
  const { clock, log } = deps;
  const closing = new AbortController();
  const onLate = (): void => goDown(`it has not answered for ${ANSWER_WITHIN_MS / 1_000} s`);
  const calls = createCalls({ clock, withinMs: ANSWER_WITHIN_MS, onLate, signal: closing.signal });
  let state: State = { mode: 'down', generation: '', reason: 'The store is being opened.' };
  let epoch = '';
  let isClosing = false;
  let toldLast = '';
  /** Why Redis takes no writes, by its last answer to one. */
  let refusal: string | null = null;
  /** Resolves when the line is up again, or closed. */
  let back = Promise.withResolvers<void>();

  async function comeUp(): Promise<void> {
    let mine: Opened | null = null;
    let gone: string | null = null;
    const onGone = (reason: string): void => {
      gone = reason;
      if (state.mode === 'up' && state.opened === mine) goDown(reason);
    };
    mine = await openInTime(deps, epoch, onGone, closing.signal);
    if (gone !== null) throw new Error(gone);
    if (isClosing) return mine.client.destroy();
    epoch = mine.epoch;
    refusal = null;
    toldLast = '';
    state = { mode: 'up', opened: mine, generation: randomBytes(9).toString('base64url') };
    back.resolve();
  }

  function goDown(why: string): void {
    if (state.mode !== 'up') return;
    const { client } = state.opened;
    const reason = `Redis is not available: ${why}.`;
    state = { mode: 'down', generation: state.generation, reason };
    back = Promise.withResolvers();
    client.destroy();
    calls.giveUp(new AnswerLost(`${reason} Whether the call had effect is unknown.`));
    log.error({ reason: why, peer: client.peer }, 'the connection to Redis is lost');
    void comeBack();
  }

  async function comeBack(): Promise<void> {
    for (let pauseMs = PAUSE_MIN_MS; state.mode === 'down'; pauseMs = Math.min(PAUSE_MAX_MS, 2 * pauseMs)) {
      await clock.sleep(pauseMs, closing.signal);
      if (isClosing) return;
      await comeUp().catch(noteFailure);
    }
    if (isClosing) return;
    log.info({}, 'the connection to Redis is back');
    deps.onBack();
  }

  /** Everybody may ask for health, so it names no address; the log does, once for each reason. */
  function noteFailure(error: unknown): void {
    if (state.mode !== 'down') return;
    state = { ...state, reason: `Redis is not available: ${reasonOf(error)}.` };
    const reply = messageOf(error);
    if (reply !== toldLast) log.error({ reason: reply }, 'Redis is not available');
    toldLast = reply;
  }

  function live(): Opened {
    if (state.mode !== 'up') throw new StoreUnavailable(state.reason);
    if (isClosing) throw new StoreUnavailable('The store is being closed.');
    return state.opened;
  }

  async function callRepeatable(script: Script, args: readonly string[]): Promise<Reply> {
    const startMs = clock.monotonicMs();
    let asked = call(script, args);
    for (;;) {
      try {
        return await asked;
      } catch (error) {
        if (!(error instanceof AnswerLost) || !(await isUpBy(startMs + SETTLE_WITHIN_MS))) throw error;
      }
      asked = answeredBy(startMs + ANSWER_WITHIN_MS, call(script, args));
    }
  }

  /** What is asked a second time has no more time for its answer than if it had been asked once. */
  async function answeredBy(untilMs: number, asked: Promise<Reply>): Promise<Reply> {
    const answered = new AbortController();
    const late = clock.sleep(untilMs - clock.monotonicMs(), answered.signal).then(() => {
      throw new StoreUnavailable('Redis is not available: it has not answered in time.');
    });
    late.catch(() => undefined);
    return await Promise.race([asked, late]).finally(() => answered.abort('answered'));
  }

  async function isUpBy(untilMs: number): Promise<boolean> {
    const inTime = new AbortController();
    await Promise.race([back.promise, clock.sleep(untilMs - clock.monotonicMs(), inTime.signal)]);
    inTime.abort('over');
    return state.mode === 'up' && clock.monotonicMs() < untilMs;
  }

  async function read(key: string, ...fields: readonly string[]): Promise<readonly (string | null)[]> {
    const { client, barrier } = live();
    const command = ['HMGET', `${deps.prefix}${key}`, ...fields];
    try {
      return (await calls.run(passed(client.send(command), barrier))) as readonly (string | null)[];
    } catch (error) {
      throw explain(error);
    }
  }

  async function call(script: Script, args: readonly string[]): Promise<Reply> {
    const { client, barrier } = live();
    const sent = ['1', deps.prefix, epoch, deps.tellTime(), ...args];
    try {
      const reply = await calls.run(passed(runScript(client, script, sent), barrier));
      if (script.writes) refusal = null;
      return reply;
    } catch (error) {
      const explained = explain(error);
      if (script.writes && explained instanceof StoreUnavailable) refusal = explained.message;
      throw explained;
    }
  }

  /** What Redis will not do now is an outage; whatever else it says is a fault of ours. */
  function explain(error: unknown): unknown {
    const message = messageOf(error);
    const isOurs = error instanceof TypeError || /^(ERR|WRONGTYPE)\b/.test(message);
    if (error instanceof StoreUnavailable || isOurs) return error;
    if (!isReply(error)) {
      // The connection tells those who wait before it tells that it is gone.
      goDown(message);
      return new AnswerLost(`Redis is not available: ${message}. Whether the call had effect is unknown.`);
    }
    // It is another store, or no longer the primary: a new connection finds out.
    if (/^(EMPTIED|READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(message)) goDown(message);
    return new StoreUnavailable(`Redis is not available: ${message}`);
  }

  function health(): ReturnType<Connection['health']> {
    if (state.mode !== 'up') return { ok: false, reason: state.reason };
    return refusal === null ? { ok: true } : { ok: false, reason: refusal };
  }

  async function close(): Promise<void> {
    isClosing = true;
    if (state.mode === 'up') await calls.whenOver();
    const before: State = state;
    state = { mode: 'closed', generation: before.generation, reason: 'The store is closed.' };
    closing.abort('closing');
    back.resolve();
    if (before.mode === 'up') before.opened.client.destroy();
  }

  await comeUpAtLast(comeUp, clock);
  let closed: Promise<void> | null = null;
  return {
    call,
    callRepeatable,
    read,
    requireUp: () => void live(),
    health,
    generation: () => state.generation,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Opens a connection, or gives it up when it is not ready in time. */
async function openInTime(
  deps: ConnectionDeps,
  epoch: string,
  onGone: (reason: string) => void,
  closing: AbortSignal,
): Promise<Opened> {
  const ready = new AbortController();
  const late = new AbortController();
  void deps.clock.sleep(READY_WITHIN_MS, ready.signal).then(() => late.abort());
  try {
    return await deps.open(epoch, { onGone, signal: AbortSignal.any([late.signal, closing]) });
  } finally {
    ready.abort();
  }
}

/** A store that is started together with its gateways may be there a little later than they are. */
async function comeUpAtLast(comeUp: () => Promise<void>, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + FIRST_WITHIN_MS;
  for (;;) {
    try {
      return await comeUp();
    } catch (error) {
      const isHopeless =
        error instanceof UnusableServer || /WRONGPASS|NOAUTH|NOPERM|certificate/.test(messageOf(error));
      if (isHopeless || clock.monotonicMs() >= untilMs) throw error;
      await clock.sleep(PAUSE_MAX_MS);
    }
  }
}

/** What was answered is told once replicas have what it rests on. */
async function passed(answer: Promise<Reply>, barrier: Barrier): Promise<Reply> {
  const reply = await answer;
  if (barrier !== NO_BARRIER) await barrier.pass();
  return reply;
}

/** Why, without any address. */
function reasonOf(error: unknown): string {
  if (error instanceof Unreachable) return 'it cannot be reached';
  return error instanceof UnusableServer ? 'it is not set up as the gateway demands' : messageOf(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
