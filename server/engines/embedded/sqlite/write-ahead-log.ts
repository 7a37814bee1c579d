/**
 * SQLite's write-ahead log, looked at before SQLite opens it. SQLite takes the first frame that does not fit its
 * checksum for the end of the log, which is right for the torn end that a power cut leaves, and nothing else.
 *
 * Promises
 * - A damaged frame with a later transaction behind it is an error that names the file and the place, because
 *   transactions are synced one by one: what is behind it was acknowledged. Only damage within the last transaction
 *   can't be told from a torn end.
 * - What is left of the log is on disk: its bytes are written again. After an fsync that failed the system shows bytes
 *   that the disk does not have, and says of the next fsync that all is well; new frames must not rest on those.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit of the magic number says in which order of bytes the checksums count. */
const MAGIC_LITTLE = 0x377f0682;
const MAGIC_BIG = 0x377f0683;
const FORMAT = 3_007_000;
const PAGE_BYTES_MIN = 512;
const PAGE_BYTES_MAX = 65_536;

type Sum = readonly [number, number];
type Header = {
  readonly littleEndian: boolean;
  readonly pageBytes: number;
  readonly salt: Sum;
  readonly sum: Sum;
};

/** Checks the log of a database that nobody has open and makes it lasting; no log is fine. Fails with one sentence. */
export function repairLog(path: string): void {
  const file = `${path}-wal`;
  if (!existsSync(file)) return;
  const descriptor = openSync(file, 'r+');
  try {
    const log = readWhole(descriptor);
    const end = findEnd(file, log);
    writeWhole(descriptor, log.subarray(0, end));
    // Remains of a transaction that failed, or of an earlier use of the log, would look like damage next time.
    ftruncateSync(descriptor, end);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Where the last whole frame ends. */
function findEnd(file: string, log: Buffer): number {
  // The header is synced before the first frame is written: a shorter file never held one.
  if (log.length <= HEADER_BYTES) return 0;
  const header = readHeader(log);
  if (!header) throw new Error(describeDamage(file, 0));
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  let { sum } = header;
  let at = HEADER_BYTES;
  for (; at + frameBytes <= log.length; at += frameBytes) {
    const next = sumOfFrame(log, at, header, sum);
    if (!isOfThisUse(log, at, header, 'whole') || !isSame(next, readSum(log, at + 16))) break;
    sum = next;
  }
  if (hasLaterTransaction(log, at, header)) throw new Error(describeDamage(file, at));
  return at;
}

/** Whether behind a frame that does not fit there is one of a later transaction: behind a frame that ends one. */
function hasLaterTransaction(log: Buffer, from: number, header: Header): boolean {
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  let ended = false;
  for (let at = from; at + FRAME_HEADER_BYTES <= log.length; at += frameBytes) {
    if (!isOfThisUse(log, at, header, 'partly')) continue;
    if (ended) return true;
    ended = log.readUInt32BE(at + 4) !== 0;
  }
  return false;
}

/** The log is used again and again under new salts; a frame with one salt of two is of this use, and damaged. */
function isOfThisUse(log: Buffer, at: number, { salt }: Header, how: 'whole' | 'partly'): boolean {
  const fits = [0, 1].filter((index) => log.readUInt32BE(at + 8 + 4 * index) === salt[index]).length;
  return how === 'whole' ? fits === 2 : fits > 0;
}

function readHeader(log: Buffer): Header | undefined {
  const magic = log.readUInt32BE(0);
  const littleEndian = magic === MAGIC_LITTLE;
  if ((!littleEndian && magic !== MAGIC_BIG) || log.readUInt32BE(4) !== FORMAT) return undefined;
  const pageBytes = log.readUInt32BE(8);
  const isPower = (pageBytes & (pageBytes - 1)) === 0;
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || !isPower) return undefined;
  const sum = addUp(log, 0, 24, littleEndian, [0, 0]);
  return isSame(sum, readSum(log, 24)) ? { littleEndian, pageBytes, salt: readSum(log, 16), sum } : undefined;
}

/** Each frame's checksum counts on from the one before, over its page number, its size and its page. */
function sumOfFrame(log: Buffer, at: number, { littleEndian, pageBytes }: Header, before: Sum): Sum {
  const sum = addUp(log, at, 8, littleEndian, before);
  return addUp(log, at + FRAME_HEADER_BYTES, pageBytes, littleEndian, sum);
}

/** SQLite's checksum of a log: two sums that feed each other, over words of 32 bits. */
function addUp(log: Buffer, from: number, bytes: number, littleEndian: boolean, before: Sum): Sum {
  const view = new DataView(log.buffer, log.byteOffset + from, bytes);
  let [one, two] = before;
  for (let at = 0; at < bytes; at += 8) {
    one = (one + view.getUint32(at, littleEndian) + two) >>> 0;
    two = (two + view.getUint32(at + 4, littleEndian) + one) >>> 0;
  }
  return [one, two];
}

function readSum(log: Buffer, at: number): Sum {
  return [log.readUInt32BE(at), log.readUInt32BE(at + 4)];
}

function isSame(a: Sum, b: Sum): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

function describeDamage(file: string, at: number): string {
  return (
    `the log ${file} is damaged at byte ${at}, and what was acknowledged later stands behind that place. Restore the ` +
    `database and its log from a copy; or, to lose what is behind it, keep a copy of both and run: truncate -s ${at} '${file}'`
  );
}

function readWhole(descriptor: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  let done = 0;
  while (done < bytes.length) {
    const read = readSync(descriptor, bytes, done, bytes.length - done, done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

function writeWhole(descriptor: number, bytes: Buffer): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(descriptor, bytes, done, bytes.length - done, done);
}
