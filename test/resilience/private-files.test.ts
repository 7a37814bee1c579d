/** Who may read what the gateway writes to the disk, whatever the umask it was started with. */
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
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
});
