/**
 * The open event streams, and whether one more may open. There is a limit for all streams, and one for the
 * streams of each session or task.
 */
import { createAmounts } from '../../async/amounts.ts';
import { Problem } from '../problems.ts';
import type { EventSource } from './event-frames.ts';

export type StreamLimits = {
  readonly streamsMax: number;
  /** The limit for one session or task. */
  readonly streamsOfOneMax: number;
};

/** The part of a stream by which it is counted. */
type AdmittedStream = Pick<EventSource, 'of'>;

export type Admission<Stream extends AdmittedStream> = {
  readonly streams: ReadonlySet<Stream>;
  /** Admits a stream; throws a `Problem` (429) if there are too many. */
  admit(stream: Stream): void;
  /** Frees the stream's place. Idempotent. */
  release(stream: Stream): void;
};

export function createAdmission<Stream extends AdmittedStream>({
  streamsMax,
  streamsOfOneMax,
}: StreamLimits): Admission<Stream> {
  const streams = new Set<Stream>();
  const ofOwners = createAmounts<string>();

  return {
    streams,
    admit(stream) {
      const owner = nameOwner(stream);
      if (streams.size >= streamsMax) {
        throw new Problem('too_many_streams', `${streamsMax} streams are open. Try again later.`);
      }
      if (ofOwners.of(owner) >= streamsOfOneMax) {
        throw new Problem(
          'too_many_streams',
          `This ${stream.of.kind} has ${streamsOfOneMax} open streams. Close one before opening another.`,
        );
      }
      streams.add(stream);
      ofOwners.add(owner, 1);
    },
    release(stream) {
      if (!streams.delete(stream)) return;
      ofOwners.add(nameOwner(stream), -1);
    },
  };
}

function nameOwner({ of: { kind, id } }: AdmittedStream): string {
  return `${kind} ${id}`;
}
