/**
 * The check of SQLite's write-ahead log, before SQLite opens it. SQLite treats the first frame whose checksum
 * is wrong as the end of the log. That is right for the torn end that a power cut leaves, and for nothing
 * else.
 *
 * Promises
 * - A damaged frame before a later transaction is an error that names the file and the byte: transactions are
 *   synced one by one, so the later one was acknowledged. Only damage within the last transaction can't be
 *   distinguished from a torn end.
 * - A log beside a file that is not its database, or an older copy of it, is an error that names both: SQLite
 *   would remove it where the file is missing or empty, and else mix two databases. Each log of a gateway
 *   has the identity of the database in its first transaction.
 * - The intact part of the log is on disk: its bytes are written again. After a failed fsync the operating
 *   system may return bytes that are not on disk, and report the next fsync as successful; new frames must
 *   not follow such bytes.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import {
  describeForeign,
  type FileHead,
  isBeneath,
  readFileHead,
  readHead,
  UnusableFile,
} from './file-format.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit of the magic number is the byte order in which checksums are computed. */
const MAGIC_LITTLE = 0x377f0682;
const MAGIC_BIG = 0x377f0683;
const FORMAT = 3_007_000;
const PAGE_BYTES_MIN = 512;
const PAGE_BYTES_MAX = 65_536;
/** So much is written at once: a log may have 32 MB and more. */
const PIECE_BYTES = 2 ** 20;

type WordPair = readonly [number, number];
type Header = {
  readonly littleEndian: boolean;
  readonly pageBytes: number;
  readonly salt: WordPair;
  readonly checksum: WordPair;
};

/**
 * Checks the log of a database that no process has open, cuts off its torn end and makes the rest durable.
 * Does nothing when there is no log. Throws an error that says what to do when the log is damaged, or is not
 * of this database.
 *
 * `isClaimed`: the file was found to be the database of this log before, so that it is not opened here.
 * Closing it would end the locks that connections of this process have on it.
 */
export function repairLog(path: string, isClaimed = false): void {
  if (!existsSync(nameLog(path))) return;
  const descriptor = openSync(nameLog(path), 'r+');
  try {
    const log = readAll(descriptor);
    const end = isClaimed ? findClaimedEnd(path, log) : findIntactEnd(path, log);
    if (end === undefined) return;
    writeAll(descriptor, log.subarray(0, end));
    // Frames of a failed transaction, or of an earlier use of the log, would look like damage next time.
    ftruncateSync(descriptor, end);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Cuts off what stands in the log behind its first `frames`, the end that SQLite's index of it has. A
 * connection that was open already when a transaction failed keeps that index: what is written next takes the
 * place of those frames one by one, and a cut of the power could leave a later one behind them.
 */
export function cutBehindIndex(path: string, frames: number): void {
  if (frames < 0 || !existsSync(nameLog(path))) return;
  const descriptor = openSync(nameLog(path), 'r+');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(descriptor, header, 0, HEADER_BYTES, 0);
    const pageBytes = readHeader(header)?.pageBytes;
    if (pageBytes === undefined) return;
    const end = HEADER_BYTES + frames * (FRAME_HEADER_BYTES + pageBytes);
    if (fstatSync(descriptor).size <= end) return;
    ftruncateSync(descriptor, end);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function nameLog(path: string): string {
  return `${path}-wal`;
}

/** Where the intact part of a log ends; undefined where it holds nothing of a database of the gateway. */
function findIntactEnd(path: string, log: Buffer): number | undefined {
  const head = requireDatabase(path);
  // The header is synced before the first frame is written, so a shorter file has never held a frame.
  if (log.length <= HEADER_BYTES) return head?.isOfGateway ? 0 : undefined;
  if (!head?.isOfGateway) throw new UnusableFile(describeForeign(path));
  const end = findEnd(nameLog(path), log);
  requireSameIdentity(path, head, log.subarray(0, end));
  return end;
}

/**
 * The head of a file. Throws where it is no database, and the log beside it has changes: SQLite removes such
 * a log, even where it only reads.
 */
export function requireDatabase(path: string): FileHead | undefined {
  const head = readFileHead(path);
  const logBytes = statSync(nameLog(path), { throwIfNoEntry: false })?.size ?? 0;
  if (!head?.isSqlite && logBytes > HEADER_BYTES) throw new UnusableFile(describeLone(path, head));
  return head;
}

function findClaimedEnd(path: string, log: Buffer): number {
  if (log.length <= HEADER_BYTES) return 0;
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) throw new UnusableFile(describeLone(path, undefined));
  return findEnd(nameLog(path), log);
}

/** The log of another database is noticed by the identities in it, of which the first transaction has one. */
function requireSameIdentity(path: string, head: FileHead, log: Buffer): void {
  const pageBytes = readHeader(log)?.pageBytes ?? PAGE_BYTES_MAX;
  const identities: number[] = [];
  for (let offset = HEADER_BYTES; offset < log.length; offset += FRAME_HEADER_BYTES + pageBytes) {
    const isOfFirstPage = log.readUInt32BE(offset) === 1;
    if (isOfFirstPage) identities.push(readHead(log.subarray(offset + FRAME_HEADER_BYTES)).identity);
    const endsTransaction = log.readUInt32BE(offset + 4) !== 0;
    if (endsTransaction && identities.length === 0) throw new UnusableFile(describeSwapped(path));
  }
  const [first, last] = [identities[0], identities.at(-1)];
  if (first === undefined || last === undefined || isBeneath(head, [first, last])) return;
  throw new UnusableFile(describeSwapped(path));
}

/** The offset at which the last intact frame ends. */
function findEnd(file: string, log: Buffer): number {
  const header = readHeader(log);
  if (!header) throw new Error(describeDamage(file, 0));
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  let { checksum } = header;
  let offset = HEADER_BYTES;
  for (; offset + frameBytes <= log.length; offset += frameBytes) {
    const next = computeFrameChecksum(log, offset, header, checksum);
    if (countMatchingSalts(log, offset, header) < 2 || !isEqual(next, readPair(log, offset + 16))) break;
    checksum = next;
  }
  if (hasLaterTransaction(log, offset, header)) throw new Error(describeDamage(file, offset));
  return offset;
}

/**
 * Whether a later transaction follows the damaged one: a frame of this use after a frame that ends a
 * transaction.
 */
function hasLaterTransaction(log: Buffer, from: number, header: Header): boolean {
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  let hasEnded = false;
  for (let offset = from; offset + FRAME_HEADER_BYTES <= log.length; offset += frameBytes) {
    if (countMatchingSalts(log, offset, header) === 0) continue;
    if (hasEnded) return true;
    hasEnded = log.readUInt32BE(offset + 4) !== 0;
  }
  return false;
}

/**
 * SQLite reuses the log and draws two new salts each time. A frame belongs to this use when both match, and
 * to an earlier use when neither does; when only one matches, the frame belongs to this use and is damaged.
 */
function countMatchingSalts(log: Buffer, offset: number, { salt }: Header): number {
  return [0, 1].filter((index) => log.readUInt32BE(offset + 8 + 4 * index) === salt[index]).length;
}

function readHeader(log: Buffer): Header | undefined {
  const magic = log.readUInt32BE(0);
  const littleEndian = magic === MAGIC_LITTLE;
  if ((!littleEndian && magic !== MAGIC_BIG) || log.readUInt32BE(4) !== FORMAT) return undefined;
  const pageBytes = log.readUInt32BE(8);
  const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0;
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || !isPowerOfTwo) return undefined;
  const checksum = addToChecksum(log, 0, 24, littleEndian, [0, 0]);
  if (!isEqual(checksum, readPair(log, 24))) return undefined;
  return { littleEndian, pageBytes, salt: readPair(log, 16), checksum };
}

/** A frame's checksum continues the one of the frame before, over page number, database size and page. */
function computeFrameChecksum(
  log: Buffer,
  offset: number,
  { littleEndian, pageBytes }: Header,
  before: WordPair,
): WordPair {
  const checksum = addToChecksum(log, offset, 8, littleEndian, before);
  return addToChecksum(log, offset + FRAME_HEADER_BYTES, pageBytes, littleEndian, checksum);
}

/** SQLite's checksum of a log: two sums over words of 32 bits, each of which is added to the other. */
function addToChecksum(
  log: Buffer,
  offset: number,
  bytes: number,
  littleEndian: boolean,
  before: WordPair,
): WordPair {
  const view = new DataView(log.buffer, log.byteOffset + offset, bytes);
  let [first, second] = before;
  for (let index = 0; index < bytes; index += 8) {
    first = (first + view.getUint32(index, littleEndian) + second) >>> 0;
    second = (second + view.getUint32(index + 4, littleEndian) + first) >>> 0;
  }
  return [first, second];
}

function readPair(log: Buffer, offset: number): WordPair {
  return [log.readUInt32BE(offset), log.readUInt32BE(offset + 4)];
}

function isEqual(a: WordPair, b: WordPair): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

function describeLone(path: string, head: FileHead | undefined): string {
  const state = head ? 'not a database' : 'missing or empty';
  return (
    `The database ${path} is ${state}, but its log ${nameLog(path)} has changes that were acknowledged, and would be ` +
    `lost. Put the database back beside its log. Or give up those changes, and move the log away: ${moveAway(path)}`
  );
}

function describeSwapped(path: string): string {
  return (
    `The log ${nameLog(path)} is of another database than ${path}, or of a later state of it: that file may be a ` +
    'backup that was restored beside the log. Put the database back that the log belongs to. Or give up the ' +
    `changes in the log, and move it away: ${moveAway(path)}`
  );
}

function moveAway(path: string): string {
  return `mv '${nameLog(path)}' '${nameLog(path)}.old'`;
}

function describeDamage(file: string, offset: number): string {
  return (
    `the log ${file} is damaged at byte ${offset}, and acknowledged changes follow that byte. Restore the database ` +
    'and its log from a copy; or, to give up those changes, keep a copy of both and run: ' +
    `truncate -s ${offset} '${file}'`
  );
}

function readAll(descriptor: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  let done = 0;
  while (done < bytes.length) {
    const read = readSync(descriptor, bytes, done, bytes.length - done, done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(descriptor, bytes, done, Math.min(PIECE_BYTES, bytes.length - done), done);
  }
}
