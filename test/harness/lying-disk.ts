/** A disk that reports a group of writes as done and writes it later: a crash loses the delayed group. */
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemory } from '../../server/engines/sqlite/connection.ts';
import type { Tables } from '../../server/engines/sqlite/store.ts';
import { writeHere } from '../../server/engines/sqlite/writer.ts';

let copies = 0;

/** Creates the disk. It delays each `everyNth` group until the next one. */
export function createLyingDisk(everyNth: number): { open(): Tables; crash(): void } {
  let sqlite = openMemory();
  let groups = 0;
  /** How often the disk was opened: nothing more is written for a process that is gone. */
  let opened = 0;
  /** Holds the tables as they were before the delayed group. */
  let kept: string | null = null;

  function keep(): void {
    copies += 1;
    kept = join(tmpdir(), `lying-${process.pid}-${copies}.db`);
    sqlite.prepare('VACUUM INTO ?').run(kept);
  }
  function forget(): void {
    if (kept !== null) rmSync(kept);
    kept = null;
  }

  return {
    open() {
      opened += 1;
      const own = opened;
      const writer = writeHere(sqlite);
      return {
        reader: sqlite,
        isShared: true,
        writer: {
          ...writer,
          async apply(words) {
            if (own !== opened) throw new Error('The process is gone.');
            forget();
            groups += 1;
            if (groups % everyNth === 0) keep();
            return await writer.apply(words);
          },
        },
      };
    },
    crash() {
      opened += 1;
      if (kept === null) return;
      sqlite = openMemory();
      sqlite.prepare('ATTACH ? AS kept').run(kept);
      const tables = sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      sqlite.exec('DELETE FROM count');
      for (const { name } of tables) sqlite.exec(`INSERT INTO ${name} SELECT * FROM kept.${name}`);
      sqlite.exec('DETACH kept');
      forget();
    },
  };
}
