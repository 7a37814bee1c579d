/**
 * Which event streams are open, and whether one more may open: a limit for all of them, one for each session,
 * and half of all for one remote address.
 */
import { Problem } from '../problems.ts';
import { createShares } from '../shares.ts';

export type StreamLimits = {
  readonly streamsMax: number;
  readonly sessionStreamsMax: number;
};

/** The part of an open stream that counts. */
type AdmittedStream = {
  readonly session: string;
  /** The remote address of its reader, when that says something. */
  readonly address: string | null;
};

export type Admission<Stream extends AdmittedStream> = {
  readonly streams: ReadonlySet<Stream>;
  /** Takes a stream in; throws a `Problem` (429) when there are too many. */
  admit(stream: Stream): void;
  /** Frees the stream's slot. Idempotent. */
  release(stream: Stream): void;
};

/** Creates the admission with no stream open. */
export function createAdmission<Stream extends AdmittedStream>({
  streamsMax,
  sessionStreamsMax,
}: StreamLimits): Admission<Stream> {
  const streams = new Set<Stream>();
  const countBySession = new Map<string, number>();
  const shares = createShares(streamsMax);

  return {
    streams,
    admit(stream) {
      const count = countBySession.get(stream.session) ?? 0;
      if (streams.size >= streamsMax) {
        throw new Problem('too_many_streams', `${streamsMax} streams are open. Try again later.`);
      }
      if (!shares.fits(stream.address, 1)) {
        throw new Problem(
          'too_many_streams',
          `Your address has ${Math.ceil(streamsMax / 2)} open streams. Close one before opening another.`,
        );
      }
      if (count >= sessionStreamsMax) {
        throw new Problem(
          'too_many_streams',
          `This session has ${sessionStreamsMax} open streams. Close one before opening another.`,
        );
      }
      streams.add(stream);
      shares.add(stream.address, 1);
      countBySession.set(stream.session, count + 1);
    },
    release(stream) {
      if (!streams.delete(stream)) return;
      shares.add(stream.address, -1);
      const count = (countBySession.get(stream.session) ?? 1) - 1;
      if (count === 0) countBySession.delete(stream.session);
      else countBySession.set(stream.session, count);
    },
  };
}
