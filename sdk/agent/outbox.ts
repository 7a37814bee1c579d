/**
 * The outcomes that an agent has not delivered yet, kept in a file so that they survive a crash of the agent
 * and a power cut.
 *
 * The file has lines of JSON: `{"keep": report}` before an outcome is first reported, `{"told": request_id}`
 * once the gateway has it or does not want it. The agent empties the file when no outcome is left in it. It
 * rewrites the file when most of it is obsolete, or when a write has failed and may have left half a line: it
 * writes a new file, forces it to disk, renames it, and forces the name to disk before it appends again. A
 * last line that a crash left incomplete is ignored. Only the file's owner can read it. A lock beside it sees
 * to it that only one process at a time uses it.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { RequestId, TaskReport } from '../contract.ts';
import { InvalidOptionError, TaskGatewayError } from '../errors.ts';
import { type FileLock, lockFile, resolveFile } from './file-lock.ts';

/** An outcome as the agent reports it, with the agent that produced it. */
export type KeptReport = TaskReport & { readonly status: 'success' | 'failed' };

export type Outbox = {
  /**
   * Opens the file and returns the outcomes in it. Throws the errors of the file system, and
   * `InvalidOptionError` if another process uses the file.
   */
  open(): Promise<readonly KeptReport[]>;
  /** Keeps an outcome. It is on disk when this resolves. Errors go to `onError`. */
  keep(report: KeptReport): Promise<void>;
  /** Removes an outcome. Errors go to `onError`. */
  remove(request_id: RequestId): Promise<void>;
  /** Closes the file; may be called again. Errors go to `onError`. */
  close(): Promise<void>;
};

/** A line of the file. The names of the fields are a stored format. */
type Line = { readonly keep?: KeptReport; readonly told?: string };

/** A file with fewer lines is not rewritten. */
const LINES_MAX = 1_000;

/** Creates the outbox in a file; without a file it keeps nothing. */
export function createOutbox(given: string | undefined, onError: (error: unknown) => void): Outbox {
  let file: string | undefined;
  const kept = new Map<string, KeptReport>();
  let handle: FileHandle | undefined;
  let lock: FileLock | undefined;
  let lines = 0;
  /** Whether the file may lack an outcome, or may end within a line. */
  let isDamaged = false;
  let last: Promise<void> = Promise.resolve();

  /** Runs one step after the other. */
  function enqueue(step: () => Promise<void>): Promise<void> {
    last = last.then(step).catch((error: unknown) => {
      isDamaged = true;
      onError(error);
    });
    return last;
  }

  /** Rewrites the file. If the process crashes meanwhile, either the old or the new file is complete. */
  async function rewrite(name: string): Promise<void> {
    await writeFile(
      `${name}.new`,
      [...kept.values()].map((report) => ({ keep: report })),
    );
    await rename(`${name}.new`, name);
    await syncFolder(dirname(name));
    const next = await open(name, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
    await handle?.close();
    handle = next;
    lines = kept.size;
    isDamaged = false;
  }

  /** Appends a line, or writes everything that is kept anew. */
  async function write(name: string, line: Line): Promise<void> {
    if (isDamaged || (lines >= LINES_MAX && lines > 4 * kept.size)) await rewrite(name);
    else {
      await handle?.appendFile(formatLine(line));
      lines += 1;
    }
  }

  async function close(): Promise<void> {
    await handle?.close();
    handle = undefined;
    await lock?.release();
    lock = undefined;
  }

  return {
    async open() {
      if (given === undefined) return [];
      file = await resolveFile(given);
      await requireOneName(file);
      lock = await lockFile(file);
      apply(readLines(await readFileIfPresent(file), onError), kept);
      await rewrite(file);
      return [...kept.values()];
    },
    keep: (report) =>
      enqueue(async () => {
        if (file === undefined || !handle) return;
        kept.set(report.request_id, report);
        await write(file, { keep: report });
        await handle.datasync();
      }),
    remove: (request_id) =>
      enqueue(async () => {
        if (file === undefined || !handle || !kept.delete(request_id)) return;
        if (kept.size > 0 || isDamaged) {
          await write(file, { told: request_id });
          return;
        }
        await handle.truncate(0);
        lines = 0;
      }),
    close: () => enqueue(close),
  };
}

/**
 * Throws if the file has a second name, a hard link, through which another process could use the same
 * outcomes.
 */
async function requireOneName(file: string): Promise<void> {
  const { nlink } = await stat(file).catch(() => ({ nlink: 1 }));
  if (nlink <= 1) return;
  throw new InvalidOptionError(
    `The outbox ${file} has another name (a hard link), by which another process could use it: copy it to a file of its own.`,
  );
}

/**
 * Writes a new file that only its owner can read, and waits until it is on disk. It first removes a file of
 * this name: a crash left that, or it is a link that must not be followed.
 */
async function writeFile(file: string, lines: readonly Line[]): Promise<void> {
  await rm(file, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    for (const line of lines) await handle.appendFile(formatLine(line));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Waits until the names in a folder are on disk. Windows has no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readFileIfPresent(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function apply(lines: readonly Line[], kept: Map<string, KeptReport>): void {
  for (const { keep, told: removed } of lines) {
    if (keep) kept.set(keep.request_id, keep);
    if (removed !== undefined) kept.delete(removed);
  }
}

function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

/**
 * Returns the complete lines. A last line without its end is ignored. Any other line that an outbox does not
 * write is an error and is skipped; but if it is a torn line with a good one after it, the good one counts.
 * That one can be found because the quotation marks that begin a line would be escaped within a text of JSON.
 */
function readLines(text: string, onError: (error: unknown) => void): readonly Line[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.flatMap((line, index) => {
    const parsed = readLine(line);
    if (parsed) return [parsed];
    const rest = readLine(line.slice(Math.max(line.lastIndexOf('{"keep":'), line.lastIndexOf('{"told":'))));
    onError(new TaskGatewayError('outbox_damaged', `Line ${index + 1} of the outbox can’t be read.`));
    return rest ? [rest] : [];
  });
}

function readLine(text: string): Line | undefined {
  try {
    const { keep, told } = JSON.parse(text);
    if (typeof told === 'string') return { told };
    const isReport =
      typeof keep?.request_id === 'string' &&
      typeof keep.agent_id === 'string' &&
      (keep.status === 'success' || keep.status === 'failed');
    return isReport ? { keep } : undefined;
  } catch {
    return undefined;
  }
}
