/** A disk as a power cut leaves it: what was synced is there; of the rest all, nothing, or a torn part. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Operation } from './recording.ts';

export type Cut =
  | 'nothing unsynced'
  | 'everything, the last write torn'
  | 'a random part of what was unsynced';
export const CUTS: readonly Cut[] = [
  'nothing unsynced',
  'everything, the last write torn',
  'a random part of what was unsynced',
];

type Change = Extract<Operation, { kind: 'write' | 'truncate' }>;
type File = { synced: Buffer; readonly unsynced: Change[]; length: number };
/** A name that was replaced, and the folder was not synced since: it may be the earlier file after a cut. */
type Replaced = { readonly name: string; readonly earlier: File | undefined };

export type Disk = {
  /**
   * The next operation happens. Creating and removing files is taken as durable at once, renaming when its
   * folder is synced. What an fsync failed to write is lost, though the system goes on to show it: it is
   * marked as written, so the next fsync has nothing to do.
   */
  follow(operation: Operation): void;
  /** Writes the files as they would be after a cut now, into an empty folder, under their base names. */
  cut(how: Cut, folder: string, random: () => number): void;
};

const SECTOR = 512;

/** Creates an empty disk. */
export function createDisk(): Disk {
  const files = new Map<string, File>();
  let replaced: Replaced[] = [];

  function fileOf(name: string): File {
    const file = files.get(name) ?? { synced: Buffer.alloc(0), unsynced: [], length: 0 };
    files.set(name, file);
    return file;
  }

  return {
    follow(operation) {
      switch (operation.kind) {
        case 'create':
          fileOf(operation.file);
          return;
        case 'remove':
          files.delete(operation.file);
          return;
        case 'append': {
          const { file, bytes } = operation;
          this.follow({ kind: 'write', file, at: fileOf(file).length, bytes });
          return;
        }
        case 'rename': {
          replaced.push({ name: operation.to, earlier: files.get(operation.to) });
          files.set(operation.to, fileOf(operation.file));
          files.delete(operation.file);
          return;
        }
        case 'write':
        case 'truncate': {
          const file = fileOf(operation.file);
          file.unsynced.push(operation);
          file.length =
            operation.kind === 'truncate'
              ? operation.length
              : Math.max(file.length, operation.at + operation.bytes.length);
          return;
        }
        case 'sync': {
          replaced = replaced.filter(({ name }) => dirname(name) !== operation.file);
          const file = fileOf(operation.file);
          file.synced = apply(file.unsynced.splice(0), file.synced);
          return;
        }
        case 'failed sync':
          fileOf(operation.file).unsynced.splice(0);
          return;
        case 'answer':
      }
    },
    cut(how, folder, random) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      const isUndone = how === 'nothing unsynced' || (how !== CUTS[1] && random() < 0.5);
      const there = new Map(files);
      for (const { name, earlier } of isUndone ? replaced.toReversed() : []) {
        if (earlier) there.set(name, earlier);
        else there.delete(name);
      }
      for (const [name, { synced, unsynced }] of there) {
        const left = apply(choose(how, unsynced, random), synced);
        writeFileSync(join(folder, name.slice(name.lastIndexOf('/') + 1)), left);
      }
    },
  };
}

function choose(how: Cut, unsynced: readonly Change[], random: () => number): readonly Change[] {
  switch (how) {
    case 'nothing unsynced':
      return [];
    case 'everything, the last write torn':
      return [...unsynced.slice(0, -1), ...unsynced.slice(-1).map((one) => tear(one, random))];
    case 'a random part of what was unsynced':
      return unsynced.filter(() => random() < 0.5);
  }
}

/** Only whole sectors of a write arrive, and not all of them. */
function tear(one: Change, random: () => number): Change {
  if (one.kind !== 'write') return one;
  const sectors = Math.floor((random() * one.bytes.length) / SECTOR);
  return { ...one, bytes: one.bytes.subarray(0, sectors * SECTOR) };
}

/** The content with the changes; a copy, since it must not change under a cut that is only tried. */
function apply(changes: readonly Change[], content: Buffer): Buffer {
  const ends = changes.map((one) => (one.kind === 'write' ? one.at + one.bytes.length : one.length));
  const changed = Buffer.alloc(Math.max(content.length, ...ends));
  content.copy(changed);
  let { length } = content;
  for (const one of changes) {
    // What is cut off reads as zeros when the file grows again.
    if (one.kind === 'truncate') changed.fill(0, one.length);
    else one.bytes.copy(changed, one.at);
    length = one.kind === 'truncate' ? one.length : Math.max(length, one.at + one.bytes.length);
  }
  return changed.subarray(0, length);
}
