/**
 * Looks at the file and its disk twice a second: whether the file still has its name, and how much space the
 * disk has. With little space the gateway adds nothing new, so that reports can still be written. A write
 * that finds no space at all fails, and is tried again.
 */
import { statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { FILE_MOVED } from './outage-kind.ts';
import type { Prepare } from './statements.ts';

export type FileLook = {
  readonly isMoved: boolean;
  /** Undefined if the file system does not say. */
  readonly space: Space | undefined;
};

type Space = { readonly freeBytes: number; readonly totalBytes: number };

type Deps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Its abort ends the looks. */
  readonly closed: AbortSignal;
  readonly look: () => Promise<FileLook>;
  onMoved(): void;
};

const LOOK_EVERY_MS = 500;
const NEARLY_FULL_BYTES = 128 * 2 ** 20;
/** For a small file system, this share of it counts as nearly full instead. */
const NEARLY_FULL_SHARE = 1 / 8;
/** The disk counts as having space again with this many times as much. */
const MARGIN = 9 / 8;
const NEARLY_FULL = 'the disk of the store is nearly full: new tasks, agents and output are refused';

/** Begins to look. Returns a function that says whether the disk is nearly full. */
export function watchFile({ clock, log, closed, look, onMoved }: Deps): () => boolean {
  let isNearlyFull = false;

  function classify(space: Space): void {
    const leastBytes = Math.min(NEARLY_FULL_BYTES, space.totalBytes * NEARLY_FULL_SHARE);
    const isLow = space.freeBytes < leastBytes * (isNearlyFull ? MARGIN : 1);
    if (isLow === isNearlyFull) return;
    isNearlyFull = isLow;
    if (isLow) log.error(space, NEARLY_FULL);
    else log.info(space, 'the disk of the store has space again: everything is accepted');
  }

  async function lookOn(): Promise<void> {
    while (!closed.aborted) {
      // If the look fails, the next commit finds out why.
      const found = await look().catch(() => undefined);
      if (closed.aborted) return;
      if (found?.space) classify(found.space);
      if (found?.isMoved) onMoved();
      await clock.sleep(LOOK_EVERY_MS, closed);
    }
  }

  void lookOn();
  return () => isNearlyFull;
}

/**
 * Creates the look at a file. `prepare` is of a connection to it, because free pages of the file count as
 * space too.
 */
export function createFileLook(path: string, prepare: Prepare): () => Promise<FileLook> {
  const first = statSync(path);
  const countFreePages = prepare('PRAGMA freelist_count');
  const pageBytes = Number(prepare('PRAGMA page_size').get()?.[0]);
  return async () => {
    const { bavail, blocks, bsize } = await statfs(dirname(path));
    const freeBytes = bavail * bsize + Number(countFreePages.get()?.[0]) * pageBytes;
    return {
      isMoved: await stat(path).then(
        (found) => !isSameFile(first, found),
        () => true,
      ),
      space: blocks === 0 ? undefined : { freeBytes, totalBytes: blocks * bsize },
    };
  };
}

/** Creates a check that throws once the path leads to another file or to none. */
export function createNameCheck(path: string): () => void {
  const first = statSync(path);
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && isSameFile(first, found)) return;
    throw Object.assign(new Error(`${path} was moved or removed while the gateway has it open`), {
      code: FILE_MOVED,
    });
  };
}

type FileId = { readonly dev: number; readonly ino: number };

function isSameFile(one: FileId, other: FileId): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
