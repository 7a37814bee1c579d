/** Who may read what the gateway writes to the disk, whatever the umask it was started with. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { submit } from '../e2e/plain-calls.ts';
import { useFolder } from '../harness/folder.ts';
import { startGateway } from '../harness/gateway-process.ts';

/** Runs a command with every permission left to others. */
const OPEN_UMASK = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];

/** What others than the owner may do with each file and folder at a path, by its name. */
function readOthersModes(folder: string): Record<string, string> {
  const entries = ['.', ...readdirSync(folder)];
  return Object.fromEntries(
    entries.map((name) => [name, (statSync(join(folder, name)).mode & 0o077).toString(8)]),
  );
}

describe('the database of a gateway', () => {
  test('and its folder are readable by their owner alone, though the umask leaves all to others', async () => {
    const folder = join(useFolder(), 'made', 'here');
    const gateway = await startGateway({ STORE: `sqlite:${folder}/gateway.db` }, OPEN_UMASK);
    onTestFinished(() => gateway.kill());
    await submit(gateway.baseUrl);
    const modes = readOthersModes(folder);
    expect(Object.keys(modes).sort()).toEqual(
      expect.arrayContaining(['.', 'gateway.db', 'gateway.db-shm', 'gateway.db-wal', 'gateway.db.lock']),
    );
    expect(new Set(Object.values(modes))).toEqual(new Set(['0']));
  });

  test('that others could read until now becomes its owner\u2019s alone at the next start', async () => {
    const folder = join(useFolder(), 'old');
    mkdirSync(folder);
    const env = { STORE: `sqlite:${folder}/gateway.db` };
    const before = await startGateway(env);
    await submit(before.baseUrl);
    await before.stop();
    for (const file of readdirSync(folder)) chmodSync(join(folder, file), 0o666);
    const gateway = await startGateway(env, OPEN_UMASK);
    onTestFinished(() => gateway.kill());
    const { '.': _folder, ...files } = readOthersModes(folder);
    expect(new Set(Object.values(files))).toEqual(new Set(['0']));
  });

  test('is the only thing whose permissions change: not a folder that STORE names, nor a file of others', async () => {
    const folder = useFolder();
    const [shared, text, songs] = [join(folder, 'shared'), join(folder, 'text'), join(folder, 'songs.db')];
    mkdirSync(shared);
    writeFileSync(text, 'A text, not a database. '.repeat(100));
    const sqlite = new DatabaseSync(songs);
    sqlite.exec('CREATE TABLE songs (title TEXT)');
    sqlite.close();
    for (const [path, words] of [
      [shared, `The database ${shared} is a folder. Name a file in it: STORE=sqlite:${shared}/gateway.db.`],
      [text, 'is not a database'],
      [songs, 'belongs to another program'],
      ['/dev/null', '/dev/null is not a file that can be stored in. Name another one'],
    ] as const) {
      if (path !== '/dev/null') chmodSync(path, 0o777);
      await expect(startGateway({ STORE: `sqlite:${path}` })).rejects.toThrow(words);
      expect(statSync(path).mode & 0o066, path).toBe(0o066);
    }
    expect(readdirSync(folder).filter((name) => /^(shared|text)\./.test(name))).toEqual([]);
  });
});
