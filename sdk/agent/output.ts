/**
 * Writes a handler's output to the gateway: in order, one call at a time. It keeps each piece until the
 * gateway has it, and repeats a call without a response as it was: the gateway skips what it has stored
 * already.
 *
 *   write() ──▶ pending ──100 ms, 4 KiB or data──▶ under way ──▶ stored
 *                                                    ▲    │
 *                                   no response, 503 ╰────╯
 *
 * It joins texts, so that one call carries what was written within 100 ms. A handler that waits for `write`
 * loses nothing, because `write` resolves when there is room. A handler that does not wait loses what exceeds
 * the room, and a piece says how much.
 */
import type { Calls } from '../calls.ts';
import { type Clock, linkSignals, readMonotonicMs } from '../clock.ts';
import type { AgentId, Question, RequestId, WrittenPiece } from '../contract.ts';
import { AbortError, ApiError, InvalidOptionError, ValidationError } from '../errors.ts';
import { createId } from '../ids.ts';
import type { TraceOptions } from '../transport.ts';
import { isTransient } from '../waiting.ts';
import { attemptInTime, pauseInTime } from './hurry.ts';
import { createUnsent, type Sent, toWritten } from './unsent.ts';

export type OutputWriter = {
  /**
   * Adds a text, or data. Resolves when there is room for more; at once if the gateway takes nothing more, or
   * once `hurry` has fired. Rejects with `InvalidOptionError` for data that JSON can't write or that is too
   * large.
   */
  write(piece: string | object): Promise<void>;
  /**
   * Adds a question after all that was written. Resolves when the gateway has it, and when the task is over;
   * the claim of its answer then says why. Rejects if the gateway refuses the question, or if it can't be
   * sent because the gateway refused what was written before it.
   */
  ask(question: Question): Promise<void>;
  /**
   * Takes nothing more, and sends what is left. Resolves when the gateway has it, when the gateway takes
   * nothing more, or when the signal fires. Once `hurry` has fired, an attempt that fails is the last one.
   */
  finish(signal: AbortSignal): Promise<void>;
  /** Sends nothing more, and aborts the call under way. */
  stop(): void;
};

export type OutputWriterDeps = {
  readonly calls: Pick<Calls, 'writeOutput'>;
  readonly clock: Clock;
  /** Called when the gateway does not know the agent. Never rejects. */
  readonly registerAgain: (signal: AbortSignal) => Promise<void>;
  /** Whether an error says that the task is no longer this agent's to work on. */
  readonly isUnwanted: (error: unknown) => boolean;
  /** Called when the task is no longer this agent's, or is over. */
  readonly onUnwanted: () => void;
  /** Called with the reason why pieces are not stored, at the first of several failures in a row. */
  readonly onFailure: (error: unknown) => void;
  /**
   * Fires when the agent stops and has little time left. From then on pauses and waits for a response are
   * short.
   */
  readonly hurry: AbortSignal;
};

/** The task, who writes its output, and the trace of the calls. */
export type OutputKey = {
  readonly request_id: RequestId;
  readonly agent_id: AgentId;
  readonly trace?: TraceOptions | undefined;
};

/** How long a text waits for more. */
const JOIN_MS = 100;
/** After so many writes, `write` waits for a turn of the event loop. */
const YIELD_EVERY = 100;
const BACKOFF = { firstMs: 500, maxMs: 8_000 };
/** How often the gateway may refuse the rest once the handler has ended: the result matters more. */
const LAST_REFUSALS_MAX = 5;
/**
 * How often its store may refuse the rest, which takes some 40 s. If the store is out, the result has to wait
 * too; but a store with little space takes the result.
 */
const LAST_STORE_REFUSALS_MAX = 10;
/** The statuses with which a proxy may refuse a body. The gateway's own refusal has a problem in its body. */
const PROXY_STATUSES: ReadonlySet<number> = new Set([400, 415, 422]);

export function createOutputWriter(deps: OutputWriterDeps, key: OutputKey): OutputWriter {
  const { clock, hurry } = deps;
  const stopping = new AbortController();
  const pace = createPace();
  const sendBatch = createSendBatch(deps, key, stopping);
  const unsent = createUnsent();
  let joinsUntilMs = 0;
  let stopJoining: () => void = () => undefined;
  let isEnding = false;
  let sending: Promise<void> = Promise.resolve();
  let isSending = false;
  let hasLimit = false;

  function take(piece: string | object): void {
    if (isEnding || stopping.signal.aborted || hasLimit || piece === '') return;
    if (unsent.isEmpty()) joinsUntilMs = readMonotonicMs(clock) + JOIN_MS;
    unsent.add(piece);
    send();
  }

  function send(): void {
    if (!unsent.canGrow()) stopJoining();
    if (!isSending) sending = sendAll();
  }

  async function sendAll(): Promise<void> {
    isSending = true;
    while (!unsent.isEmpty() && !stopping.signal.aborted) {
      if (!isEnding && unsent.canGrow()) {
        const joining = linkSignals(stopping.signal);
        stopJoining = joining.abort;
        await clock.sleep(joinsUntilMs - readMonotonicMs(clock), joining.signal);
        joining.abort();
      }
      const batch = unsent.takeBatch();
      const sent = await sendBatch(batch.map(toWritten), () => isEnding);
      if (sent === 'over') stopping.abort();
      for (const { onSent } of batch) onSent?.(sent);
      joinsUntilMs = readMonotonicMs(clock) + JOIN_MS;
      unsent.drop(batch);
      hasLimit ||= sent === 'full';
      if (hasLimit) unsent.keepQuestions();
      if (!unsent.isFull()) pace.letOn();
    }
    isSending = false;
  }

  for (const one of [stopping.signal, hurry]) one.addEventListener('abort', pace.letOn);

  return {
    write(piece) {
      const written = (async () => {
        take(piece);
        await pace.yieldOften();
        if (unsent.isFull() && !isEnding && !stopping.signal.aborted && !hurry.aborted)
          await pace.waitForSpace();
      })();
      // If someone awaits the write, the error reaches them; otherwise it must not end the process.
      written.catch(() => undefined);
      return written;
    },
    async ask(question) {
      throwRefusal(stopping.signal);
      if (isEnding || stopping.signal.aborted) return;
      const asked = new Promise<Sent>((onSent) => {
        unsent.addQuestion(question, onSent);
        stopping.signal.addEventListener('abort', () => onSent('over'));
      });
      send();
      const sent = await asked;
      if (sent instanceof ApiError) throw sent;
      if (sent === 'full')
        throw new InvalidOptionError('The output of the task has no room for the question.');
      throwRefusal(stopping.signal);
    },
    async finish(signal) {
      isEnding = true;
      const linked = linkSignals(signal);
      linked.signal.addEventListener('abort', () => stopping.abort());
      if (signal.aborted) stopping.abort();
      stopJoining();
      await sending;
      linked.release();
      pace.letOn();
    },
    stop: () => stopping.abort(),
  };
}

/** Creates what slows a handler down that writes faster than its output leaves. */
function createPace() {
  const waiting = new Set<() => void>();
  let writes = 0;
  return {
    /** Lets the rest of the process work now and then while a handler writes in a loop. */
    async yieldOften(): Promise<void> {
      writes += 1;
      if (writes % YIELD_EVERY === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    },
    /** Resolves at the next `letOn`. */
    waitForSpace: () => new Promise<void>((resolve) => void waiting.add(resolve)),
    letOn(): void {
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
  };
}

/** Throws the reason if the gateway refused what was written and so ended the writing. */
function throwRefusal({ reason }: AbortSignal): void {
  if (reason instanceof ApiError) throw reason;
}

/** Creates the function that sends pieces until they are stored, or never will be. */
function createSendBatch(deps: OutputWriterDeps, key: OutputKey, stopping: AbortController) {
  const { signal } = stopping;
  const { calls, clock, hurry } = deps;
  const signals = { signal, hurry };
  const { request_id, agent_id, trace } = key;
  const writer = createId();
  let from = 0;
  return async (pieces: readonly WrittenPiece[], isEnding: () => boolean): Promise<Sent> => {
    let lastRefusals = 0;
    for (let failures = 0; ; failures += 1) {
      try {
        const write = { agent_id, request_id, writer, from, pieces };
        const receipt = await attemptInTime(clock, signals, (limited) =>
          calls.writeOutput(write, { signal: limited, maxRetries: 0, ...trace }),
        );
        from = receipt.accepted ? from + pieces.length : receipt.next;
        if (receipt.accepted) return 'stored';
        if (receipt.status === 'running') return 'full';
        deps.onUnwanted();
        return 'over';
      } catch (error) {
        if (error instanceof AbortError) return 'over';
        if (deps.isUnwanted(error)) {
          deps.onUnwanted();
          return 'over';
        }
        if (isRefusedQuestion(pieces, error)) return error;
        if (failures === 0) deps.onFailure(error);
        const isUnknown = error instanceof ApiError && error.code === 'agent_not_found';
        if (isUnknown) await deps.registerAgain(signal);
        else if (isRefusal(error)) {
          stopping.abort(error);
          return 'over';
        }
        const refusalsMax = findRefusalsMax(error);
        if (isEnding() && refusalsMax < Infinity) lastRefusals += 1;
        if (isEnding() && (hurry.aborted || lastRefusals >= refusalsMax)) return 'over';
        const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
        if (!isUnknown || failures > 0) {
          await pauseInTime(clock, signals, BACKOFF, failures, askedMs);
        }
        if (signal.aborted) return 'over';
      }
    }
  };
}

/**
 * Whether the gateway refuses the call for good. A 401 does not count, because the secret may be about to
 * change; nor does an error that is not the gateway's own.
 */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || isFromProxy(error)) return false;
  return error.status !== 401 && !isTransient(error.status);
}

function isFromProxy({ status, problem }: ApiError): boolean {
  return problem === undefined && PROXY_STATUSES.has(status);
}

/** How often the last pieces may fail with an error. In an outage always: it takes no result either. */
function findRefusalsMax(error: unknown): number {
  if (!(error instanceof ApiError)) return Infinity;
  if (error.problem === undefined && isTransient(error.status)) return Infinity;
  return error.code === 'store_unavailable' ? LAST_STORE_REFUSALS_MAX : LAST_REFUSALS_MAX;
}

/** Whether the gateway refuses the question itself. A fault of `from` means that the writer was replaced. */
function isRefusedQuestion(pieces: readonly WrittenPiece[], error: unknown): error is ApiError {
  if (!(error instanceof ValidationError) || isFromProxy(error)) return false;
  if (!pieces.some((piece) => 'question' in piece)) return false;
  return !error.errors.some(({ pointer }) => pointer === '/from');
}
