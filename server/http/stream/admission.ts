/**
 * Which event streams are open, and whether one more may open: a limit for all of them and one for each
 * session.
 */
import type { ServerResponse } from 'node:http';
import { Problem } from '../problems.ts';
import type { ResponseWriter } from '../response/response-writer.ts';

export type StreamLimits = {
  readonly streamsMax: number;
  readonly sessionStreamsMax: number;
};

/** One open stream. */
export type OpenStream = {
  readonly session: string;
  readonly response: ServerResponse;
  readonly writer: ResponseWriter;
};

export type Admission = {
  readonly streams: ReadonlySet<OpenStream>;
  /** Takes a stream in; throws a `Problem` (429) when there are too many. */
  admit(stream: OpenStream): void;
  /** Frees the stream's slot. Idempotent. */
  release(stream: OpenStream): void;
};

/** Creates the admission with no stream open. */
export function createAdmission({ streamsMax, sessionStreamsMax }: StreamLimits): Admission {
  const streams = new Set<OpenStream>();
  const countBySession = new Map<string, number>();

  return {
    streams,
    admit(stream) {
      const count = countBySession.get(stream.session) ?? 0;
      if (streams.size >= streamsMax) {
        throw new Problem('too_many_streams', `${streamsMax} streams are open. Try again later.`);
      }
      if (count >= sessionStreamsMax) {
        throw new Problem(
          'too_many_streams',
          `This session has ${sessionStreamsMax} open streams. Close one before opening another.`,
        );
      }
      streams.add(stream);
      countBySession.set(stream.session, count + 1);
    },
    release(stream) {
      if (!streams.delete(stream)) return;
      const count = (countBySession.get(stream.session) ?? 1) - 1;
      if (count === 0) countBySession.delete(stream.session);
      else countBySession.set(stream.session, count);
    },
  };
}
