/**
 * The outcomes an agent has not been able to tell yet, kept in a file so that they outlive the agent itself.
 *
 * A line for each: `{"keep": report}` before its first telling, `{"told": request_id}` once the gateway has it or wants
 * none. The file is emptied whenever nothing is left in it, and written anew beside itself when most of it is told. A
 * line that a crash tore is passed over. One process at a time uses a file.
 */
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import type { RequestId, TaskReport } from '../contract.ts';

/** An outcome as it is told, with the agent that worked it out. */
export type KeptReport = TaskReport & { readonly status: 'success' | 'failed' };

export type Outbox = {
  /** Opens the file and answers what it holds. Throws what the file system says. */
  open(): Promise<readonly KeptReport[]>;
  /** Keeps an outcome; on the disk when it resolves. Failures are told, not thrown: the outcome is still in memory. */
  keep(report: KeptReport): Promise<void>;
  /** Lets go of an outcome. */
  forget(request_id: RequestId): Promise<void>;
  /** Closes the file. Twice is fine. */
  close(): Promise<void>;
};

type Line = { readonly keep?: KeptReport; readonly told?: string };

/** Below so many lines a file is not worth writing anew. */
const LINES_MAX = 1_000;

/** Creates the outbox over a file, or one that keeps nothing where there is none. */
export function createOutbox(file: string | undefined, onError: (error: unknown) => void): Outbox {
  const kept = new Map<string, KeptReport>();
  let handle: FileHandle | undefined;
  let lines = 0;
  let last: Promise<void> = Promise.resolve();

  /** One write after the other. */
  function inTurn(write: (handle: FileHandle) => Promise<void>): Promise<void> {
    last = last.then(async () => {
      try {
        if (handle) await write(handle);
      } catch (error) {
        onError(error);
      }
    });
    return last;
  }

  /** Writes the file anew; whenever a crash comes, one of the two is whole. */
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
      const text = await readIfThere(file);
      for (const { keep, told } of readLines(text, onError)) {
        if (keep) kept.set(keep.request_id, keep);
        if (told !== undefined) kept.delete(told);
      }
      await rewrite(file);
      return [...kept.values()];
    },
    keep: (report) =>
      inTurn(async (own) => {
        kept.set(report.request_id, report);
        await add(own, { keep: report });
        await handle?.datasync();
      }),
    forget: (request_id) =>
      inTurn(async (own) => {
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

async function readIfThere(file: string): Promise<string> {
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

/** The lines that are whole. A last one without its end was torn; any other that can't be read is told. */
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
