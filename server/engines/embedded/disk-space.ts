/**
 * How much space the disk of the database has, and what is refused when it has little, so that what ends a
 * task has space to the last:
 *
 *   stage 1   below 128 MiB, or an eighth of the file system if that is less: nothing is added
 *   stage 2   below 32 MiB or 1/32: nor are results above 64 KiB taken
 *
 * Space is read once a second while calls come, and after every 4 MiB that were written; in between what is
 * written is counted. A stage ends with an eighth more space than it begins with.
 */
import { isLargeText, isLargeValue } from '../../domain/value-size.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { type Batch, type DiskStage, isAdmission, StoreRefused } from '../../ports/store.ts';

/** The space of a file system. */
export type Space = { readonly freeBytes: number; readonly totalBytes: number };

export type DiskSpace = {
  /** Reads the space again if that is due; what it is then, later calls see. Never rejects. */
  update(): Promise<void>;
  /** Throws `StoreRefused` for a batch that the present stage refuses. */
  requireSpace(batch: Batch): void;
  /** About this many bytes were written. */
  noteWritten(bytes: number): void;
  stage(): DiskStage;
  /** The last reading; undefined where there is none, as in memory. */
  space(): Space | undefined;
};

type Deps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves with undefined where nothing is known of a disk. */
  read(): Promise<Space | undefined>;
  onStage(stage: DiskStage): void;
};

const MIB = 2 ** 20;
const READ_EVERY_MS = 1_000;
const READ_AFTER_BYTES = 4 * MIB;
const MARGIN = 9 / 8;
const NOTHING_TO_DO = Promise.resolve();

/** From how many free bytes on there is no such stage. */
export function thresholdOf(stage: 1 | 2, { totalBytes }: Space): number {
  return stage === 1 ? Math.min(128 * MIB, totalBytes / 8) : Math.min(32 * MIB, totalBytes / 32);
}

const REFUSED: readonly string[] = [
  '',
  'new tasks, agents and output are refused',
  'new tasks, agents and output, and results above 64 KiB, are refused',
];

/** Describes a stage for `/readyz`; undefined for a disk with space. */
export function describeStage(stage: DiskStage): string | undefined {
  return stage === 0 ? undefined : `The disk of the store is nearly full: ${REFUSED[stage]}.`;
}

/** Creates it in stage 0; nothing is read before the first update. */
export function createDiskSpace({ clock, log, read, onStage }: Deps): DiskSpace {
  let stage: DiskStage = 0;
  let space: Space | undefined;
  let readMs = Number.NEGATIVE_INFINITY;
  let writtenBytes = 0;
  let underWay: Promise<void> | null = null;

  const freeBytes = (): number => (space ? space.freeBytes - writtenBytes : Number.POSITIVE_INFINITY);

  function isBelow(which: 1 | 2): boolean {
    const margin = stage >= which ? MARGIN : 1;
    return space !== undefined && freeBytes() < thresholdOf(which, space) * margin;
  }

  function updateStage(): void {
    const next: DiskStage = isBelow(2) ? 2 : isBelow(1) ? 1 : 0;
    if (next === stage) return;
    const fields = { freeBytes: freeBytes(), totalBytes: space?.totalBytes };
    if (next === 0) log.error(fields, 'the disk of the store has space again: everything is accepted');
    else log.error(fields, `the disk of the store is nearly full: ${REFUSED[next]}`);
    stage = next;
    onStage(next);
  }

  async function readAgain(): Promise<void> {
    const countedBytes = writtenBytes;
    readMs = clock.monotonicMs();
    const found = await read().catch(() => undefined);
    if (found) {
      writtenBytes -= countedBytes;
      space = found;
    }
    updateStage();
  }

  return {
    update() {
      const isDue = clock.monotonicMs() - readMs >= READ_EVERY_MS || writtenBytes >= READ_AFTER_BYTES;
      if (isDue)
        underWay ??= readAgain().finally(() => {
          underWay = null;
        });
      return underWay ?? NOTHING_TO_DO;
    },
    requireSpace(batch) {
      if (stage >= 1 && isAdmission(batch))
        throw new StoreRefused(
          'The disk of the store is nearly full: it takes no new tasks, agents and output now.',
        );
      if (stage >= 2 && hasLargeResult(batch))
        throw new StoreRefused('The disk of the store is nearly full: it takes no results above 64 KiB now.');
    },
    noteWritten(bytes) {
      writtenBytes += bytes;
      updateStage();
    },
    stage: () => stage,
    space: () => space,
  };
}

function hasLargeResult({ writes }: Batch): boolean {
  return writes.some(({ kind, value }) => {
    if (kind !== 'task' || !value?.result) return false;
    const { text } = value.result;
    return typeof text === 'string' ? isLargeText(text) : isLargeValue(value.result);
  });
}
