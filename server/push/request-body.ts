/**
 * The body of a push as it is written to the connection. undici keeps the body until the response is
 * complete, which may be five minutes later. So a long body is a stream that drops its bytes once they are
 * taken:
 *
 *   up to 4 KiB    the buffer itself; the socket and its parser cost more
 *   longer         a stream of 64 KiB parts; each part is taken after the one before has left the process
 *
 * An open push costs its body's bytes until the last part is taken, then nothing.
 */
import { Readable } from 'node:stream';

/** A body up to this length stays in memory until its response. */
const KEPT_BYTES_MAX = 4_096;
const PART_BYTES = 65_536;

/** Creates what undici sends. The caller must keep no reference to the bytes. */
export function createRequestBody(bytes: Buffer): Buffer | Readable {
  return bytes.length <= KEPT_BYTES_MAX ? bytes : createPartStream(bytes);
}

function createPartStream(bytes: Buffer): Readable {
  let rest: Buffer | null = bytes;
  return new Readable({
    highWaterMark: PART_BYTES,
    read() {
      if (rest === null) {
        this.push(null);
      } else if (rest.length > PART_BYTES) {
        const part = rest.subarray(0, PART_BYTES);
        rest = rest.subarray(PART_BYTES);
        this.push(part);
      } else {
        // Copied, because a part that waits in the socket would keep the whole body in memory.
        const last = Buffer.from(rest);
        rest = null;
        this.push(last);
      }
    },
    destroy(error, done) {
      rest = null;
      done(error);
    },
  });
}
