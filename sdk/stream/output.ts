/**
 * Reads a task's output by the numbers of its pieces: each once, in order, to the end. A stream brings the
 * stored pieces, then new ones, and the task's status. Where the gateway has no such stream, pages bring the
 * stored pieces.
 */
import type { OutputEnd, OutputPiece, OutputStatus, RequestId } from '../contract.ts';
import { ApiError, requireNumber } from '../errors.ts';
import type { LaterCalls } from '../later-calls.ts';
import { runCallback } from '../log.ts';
import { createGuard, isBoolean, isListOf, isNumber, isText, orNull } from '../responses.ts';
import type { CallOptions } from '../transport.ts';
import { checkTransient } from '../waiting.ts';
import type { FeedItem } from './follow.ts';
import { createRunQuestions, type OnQuestion } from './questions.ts';
import { type Following, followStream, type StreamDeps } from './session.ts';
import type { EventSubscription, Reading, SubscribeOptions } from './subscription.ts';
import type { StreamWatch } from './watch.ts';

/** The options of a reader of an output. */
export type ReadOutputOptions = Omit<SubscribeOptions, 'lastEventId'> & {
  /** Starts behind the piece of this number; 0, the default, is the beginning. */
  readonly after?: number | undefined;
  /** Whether to wait for pieces that are written later. Default: true. */
  readonly follow?: boolean | undefined;
  /**
   * Whether the loop, while it follows, also gets `{ status, progress }`: first of all, and at each change.
   * Default: false, so that each item has a number.
   */
  readonly withStatus?: boolean | undefined;
};

/** The output of a task, for one `for await` loop; see `EventSubscription`. */
export type OutputReading<Item = OutputPiece> = AsyncIterable<Item> & Pick<EventSubscription, 'close'>;

type OutputPage = Pick<OutputEnd, 'outcome' | 'missing'> & {
  readonly status: string;
  readonly pieces: readonly OutputPiece[];
  readonly last: number;
  readonly complete: boolean;
};

const PATH = '/api/cli/tasks/{request_id}/output';

const isPiece = createGuard<OutputPiece>({ n: isNumber });
const isStatus = createGuard<OutputStatus>({ status: isText, progress: isNumber });
const isPage = createGuard<OutputPage>({
  status: isText,
  outcome: orNull(isText),
  missing: orNull(isText),
  pieces: isListOf(isPiece),
  last: isNumber,
  complete: isBoolean,
});

export async function* readOutput(
  deps: StreamDeps,
  request_id: RequestId,
  { onNotice, follow = true, withStatus = false, ...options }: Omit<ReadOutputOptions, 'signal'> & Reading,
): AsyncGenerator<OutputPiece | OutputStatus, void, undefined> {
  const after = requireNumber({ name: 'after', value: options.cursor.lastEventId }, 0, 0);
  if (!follow) {
    yield* readPages(deps, request_id, after, options);
    return;
  }
  for await (const item of followOutput(deps, request_id, options)) {
    if (item.kind !== 'event') runCallback('onNotice', () => onNotice?.(item));
    else if (withStatus || isPiece(item.event)) yield item.event;
  }
}

/** Follows an output as `followFeed` does, to its end. Skips a piece that is sent again. */
async function* followOutput(
  deps: StreamDeps,
  request_id: RequestId,
  following: Following,
): AsyncGenerator<FeedItem<OutputPiece | OutputStatus>, void, undefined> {
  const items = followStream<OutputPiece | OutputStatus>(
    deps,
    {
      path: PATH,
      params: { path: { request_id } },
      readsBy: deps.readsBy,
      readEvent: (value) => (isPiece(value) || isStatus(value) ? value : undefined),
    },
    following,
  );
  let last = 0;
  for await (const item of items) {
    const piece = item.kind === 'event' && isPiece(item.event) ? item.event : undefined;
    if (piece && piece.n <= last) continue;
    last = piece?.n ?? last;
    yield item;
    if (piece?.end) return;
  }
}

/** Reads the stored pieces behind a number, and the end if the task has ended. */
async function* readPages(
  { send, ask, readsBy }: StreamDeps,
  request_id: RequestId,
  after: number,
  { signal, timeoutMs, headers, maxRetries }: CallOptions,
): AsyncGenerator<OutputPiece, void, undefined> {
  for (let last = after; ; ) {
    const params = { path: { request_id }, query: { after: last } };
    const page = await send({ signal, timeoutMs, headers, maxRetries }, readsBy, isPage, (init) =>
      ask('get', PATH, { ...init, params }),
    );
    yield* page.pieces;
    last = page.last;
    if (page.complete) {
      const { status, outcome, missing } = page;
      yield { n: last + 1, end: true, status, outcome, missing } as OutputEnd;
      return;
    }
    if (page.pieces.length === 0) return;
  }
}

/** The output of a task, for its run. */
export type RunOutput = {
  /**
   * Reads from pages what the stream has not brought; with retries if it is the last time. Never rejects,
   * because the task itself matters more.
   */
  readRest(isLast: boolean): Promise<void>;
};

/** The options of a run, and the functions that take what the task's stream brings. */
export type RunOutputOptions = {
  /** Learns the state of the stream, and is asked to check the task when it may have changed. */
  readonly watch: Pick<StreamWatch, 'onItem' | 'requestCheck'>;
  /** The number of the last piece that `onOutput` got earlier; 0 without one. */
  readonly after: number;
  /** Whether to follow the task's stream. */
  readonly follows: boolean;
  readonly onOutput: ((piece: OutputPiece) => void) | undefined;
  readonly onQuestion: OnQuestion | undefined;
  readonly onStatus: (status: OutputStatus) => void;
  /** Sends an answer of `onQuestion`. */
  readonly answerTask: LaterCalls['answerTask'];
  /** Called with the error that ends the run: what `onQuestion` threw, or why its answer was refused. */
  readonly onFailed: (error: unknown) => void;
  readonly call: CallOptions;
  /** Ends the reading. */
  readonly signal: AbortSignal;
};

/** Reads the output of a run's task until the signal fires. Each piece goes to `onOutput` once, in order. */
export function createRunOutput(
  deps: StreamDeps,
  request_id: RequestId,
  options: RunOutputOptions,
): RunOutput {
  const { watch, after, follows, onOutput, onQuestion, onStatus, call, signal } = options;
  const reading = { ...call, signal };
  const questions =
    onQuestion &&
    createRunQuestions({
      ...options,
      onQuestion,
      clock: deps.clock,
      readBehind: (n) => readPages(deps, request_id, n, reading),
      sendAnswer: (key, answer) => options.answerTask(request_id, { key, answer }, reading),
    });
  // A question that still waits for its answer may stand before the pieces that the caller has.
  let last = questions ? 0 : after;
  let hasEnded = false;
  /** Whether the gateway has no outputs, because it follows only the specification. */
  let hasNone = false;

  function take(piece: OutputPiece): void {
    if (piece.n <= last || hasEnded) return;
    last = piece.n;
    hasEnded = piece.end === true;
    if (piece.n > after) runCallback('onOutput', () => onOutput?.(piece));
    questions?.take(piece);
  }

  async function follow(): Promise<void> {
    const { timeoutMs, headers } = call;
    const cursor = { lastEventId: last === 0 ? undefined : `${last}` };
    try {
      for await (const item of followOutput(deps, request_id, { cursor, signal, timeoutMs, headers })) {
        if (item.kind !== 'event') watch.onItem(item);
        else if (isPiece(item.event)) take(item.event);
        else onStatus(item.event);
      }
      watch.onItem({ kind: 'event', event: { request_id } });
    } catch {
      // The run polls; if that fails too, it says why.
    }
    watch.onItem({ kind: 'ended' });
  }

  if (follows) void follow();
  else watch.onItem({ kind: 'ended' });
  return {
    async readRest(isLast) {
      if (hasEnded || hasNone || !(onOutput ?? questions)) return;
      try {
        const once = { ...reading, ...(!isLast && { maxRetries: 0 }) };
        for await (const piece of readPages(deps, request_id, last, once)) take(piece);
      } catch (error) {
        hasNone = error instanceof ApiError && !checkTransient(error);
        if (signal.aborted || !(isLast || hasNone)) return;
        deps.log('warn', `the output of a task could not be read: ${error}`);
      }
    },
  };
}
