/**
 * The open event streams of a world, each read as fast as its reader takes it. They have the frames and the
 * limits of those over sockets.
 */
import { createVisits } from '../async/visits.ts';
import { yieldToEventLoop } from '../async/waiting.ts';
import type { EventSource } from '../http/answers.ts';
import { createAdmission, type StreamLimits } from '../http/stream/admission.ts';
import { OPENING, PING } from '../http/stream/event-frames.ts';
import type { Clock } from '../ports/clock.ts';

const PING_EVERY_MS = 15_000;

type Deps = {
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly note: (call: number, kind: string, fields: object) => void;
};

type EventStreams = {
  /**
   * Opens a stream for a call; `noteBegun` is called when it has begun. Rejects with a `Problem` (429) when
   * there are too many, or with what the feed throws at once.
   */
  open(
    call: number,
    source: EventSource,
    signal: AbortSignal,
    noteBegun: () => void,
  ): Promise<ReadableStream<Uint8Array>>;
  /** How many are open. */
  count(): number;
};

type OpenStream = Pick<EventSource, 'of'> & { readonly address: null; readonly ping: () => void };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Creates it with no stream open. Its pings are sent only while there is one. */
export function createEventStreams({ clock, limits, note }: Deps): EventStreams {
  const admission = createAdmission<OpenStream>(limits);
  const pings = createVisits(clock, PING_EVERY_MS, admission.streams, ({ ping }) => ping());

  return {
    count: () => admission.streams.size,
    async open(call, { of, open }, signal, noteBegun) {
      const gone = new AbortController();
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
      const send = (bytes: Uint8Array): void => {
        note(call, 'piece', { text: decoder.decode(bytes) });
        controller?.enqueue(bytes);
      };
      const ping = (): void => {
        if ((controller?.desiredSize ?? 0) > 0) send(encoder.encode(PING));
      };
      const stream: OpenStream = { of, address: null, ping };
      const leave = (): void => {
        end();
        controller?.error(signal.reason);
      };
      const end = (): void => {
        signal.removeEventListener('abort', leave);
        admission.release(stream);
        if (admission.streams.size === 0) pings.stop();
        gone.abort('gone');
      };
      admission.admit(stream);
      pings.start();
      const frames = open(gone.signal)[Symbol.asyncIterator]();
      let first: Promise<IteratorResult<Buffer>> | undefined = frames.next();
      try {
        await Promise.race([first, yieldToEventLoop()]);
      } catch (error) {
        end();
        throw error;
      }
      if (signal.aborted) {
        end();
        throw signal.reason;
      }
      noteBegun();
      signal.addEventListener('abort', leave);
      return new ReadableStream<Uint8Array>({
        start(started) {
          controller = started;
          send(encoder.encode(OPENING));
        },
        async pull() {
          try {
            const next = await (first ?? frames.next());
            first = undefined;
            if (gone.signal.aborted) return;
            if (!next.done) return send(next.value);
            note(call, 'end', {});
            controller?.close();
          } catch (error) {
            if (gone.signal.aborted) return;
            note(call, 'cut', {});
            controller?.error(new TypeError('The stream was cut.', { cause: error }));
          }
          end();
        },
        cancel: end,
      });
    },
  };
}
