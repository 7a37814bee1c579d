/**
 * The outcomes an agent has not delivered yet, kept in a file so that they survive a crash of the agent.
 *
 * The file has lines of JSON: `{"keep": report}` before an outcome is first reported, `{"told": request_id}`
 * once the gateway has it or does not want it. The file is emptied when no outcome is left in it. When most
 * of it is obsolete, it is rewritten under another name and renamed. A last line that a crash left incomplete
 * is ignored. Only one process at a time may use a file.
 */
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import type { RequestId, TaskReport } from '../contract.ts';

/** An outcome as it is reported, with the agent that produced it. */
export type KeptReport = TaskReport & { readonly status: 'success' | 'failed' };

export type Outbox = {
  /** Opens the file and returns the outcomes in it. Throws the errors of the file system. */
  open(): Promise<readonly KeptReport[]>;
  /** Keeps an outcome; it is on disk when this resolves. Errors are passed to `onError`, not thrown. */
  keep(report: KeptReport): Promise<void>;
  /** Removes an outcome. Errors are passed to `onError`, not thrown. */
  remove(request_id: RequestId): Promise<void>;
  /** Closes the file. Idempotent. */
  close(): Promise<void>;
};

/** A line of the file. The names of the fields are a stored format. */
type Line = { readonly keep?: KeptReport; readonly told?: string };

/** A file with fewer lines is not rewritten. */
const LINES_MAX = 1_000;

/** Creates the outbox over a file; without a file it keeps nothing. */
export function createOutbox(file: string | undefined, onError: (error: unknown) => void): Outbox {
  const kept = new Map<string, KeptReport>();
  let handle: FileHandle | undefined;
  let lines = 0;
  let last: Promise<void> = Promise.resolve();

  /** Runs the writes one after the other. */
  function enqueue(write: (handle: FileHandle) => Promise<void>): Promise<void> {
    last = last.then(async () => {
      try {
        if (handle) await write(handle);
      } catch (error) {
        onError(error);
      }
    });
    return last;
  }

  /** Rewrites the file. If the process crashes meanwhile, either the old or the new file is complete. */
  async function rewrite(name: string): Promise<void> {
    const next = await open(`${name}.new`, 'w', 0o600);
    for (const report of kept.values()) await append(next, { keep: report });
    await next.datasync();
    await next.close();
    await rename(`${name}.new`, name);
    await handle?.close();
    handle = await open(name, 'a', 0o600);
    lines = kept.size;
  }

  async function add(own: FileHandle, line: Line): Promise<void> {
    await append(own, line);
    lines += 1;
    if (file !== undefined && lines > LINES_MAX && lines > 4 * kept.size) await rewrite(file);
  }

  return {
    async open() {
      if (file === undefined) return [];
      const text = await readFileIfPresent(file);
      for (const { keep, told: removed } of readLines(text, onError)) {
        if (keep) kept.set(keep.request_id, keep);
        if (removed !== undefined) kept.delete(removed);
      }
      await rewrite(file);
      return [...kept.values()];
    },
    keep: (report) =>
      enqueue(async (own) => {
        kept.set(report.request_id, report);
        await add(own, { keep: report });
        await handle?.datasync();
      }),
    remove: (request_id) =>
      enqueue(async (own) => {
        if (!kept.delete(request_id)) return;
        if (kept.size > 0) {
          await add(own, { told: request_id });
          return;
        }
        await own.truncate(0);
        lines = 0;
      }),
    async close() {
      await last;
      await handle?.close();
      handle = undefined;
    },
  };
}

async function readFileIfPresent(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

async function append(handle: FileHandle, line: Line): Promise<void> {
  await handle.appendFile(`${JSON.stringify(line)}\n`);
}

/**
 * Returns the complete lines. A last line without its end is ignored; any other that can't be read is an
 * error.
 */
function readLines(text: string, onError: (error: unknown) => void): readonly Line[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch (error) {
      onError(error);
      return [];
    }
  });
}
