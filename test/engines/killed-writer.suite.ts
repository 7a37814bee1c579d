/** A process that is killed again and again while it writes: all that it acknowledged is there afterwards. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { cursorsOf, idsOf, readFeed, readState } from './store-under-test.ts';

type Subject = { readonly path: string; open(): Promise<Store> };

/** The file of the subject is written by processes that are killed, and opened at the end. */
export function describeKilled(subject: () => Subject): void {
  test('everything acknowledged to a killed process is there afterwards, and every task settles once', async () => {
    const CYCLES = 4;
    const { path, open } = subject();
    const submitted = new Set<string>();
    const settled = new Set<string>();
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const child = spawn(
        process.execPath,
        [new URL('./killed-writer.ts', import.meta.url).pathname, path, `run${cycle}`],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const lines = createInterface({ input: child.stdout });
      const exited = new Promise((resolve) => child.once('exit', resolve));
      let acknowledged = 0;
      for await (const line of lines) {
        const [what, id = ''] = line.split(' ');
        (what === 'settled' ? settled : submitted).add(id);
        acknowledged += 1;
        if (acknowledged === 100 + cycle * 37) child.kill('SIGKILL');
      }
      await exited;
      expect(acknowledged).toBeGreaterThanOrEqual(100);
    }
    const store = await open();
    for (const id of submitted) expect(await store.get('input', id), id).toBeDefined();
    for (const id of settled) expect((await readState(store, id)).value.status, id).toBe('success');

    const { items } = await store.list('tasks', {}, { limit: 100_000 });
    const succeeded: string[] = [];
    for (const { request_id } of items) {
      if ((await readState(store, request_id)).value.status === 'success') succeeded.push(request_id);
    }
    expect(succeeded.length).toBeGreaterThanOrEqual(settled.size);
    const ended = { success: succeeded.length, failed: 0 };
    const pending = items.length - succeeded.length;
    expect(await store.readCounts(0)).toMatchObject({ pending, running: 0, ended });
    const feed = await readFeed(store, 's', null, succeeded.length);
    expect([...idsOf(feed)].sort()).toEqual(succeeded.sort());
    expect(new Set(cursorsOf(feed)).size).toBe(succeeded.length);
    const due = (await store.takeDue(100_000)).map(({ ref }) => ref.slice('task:'.length));
    expect(due.sort()).toEqual(
      items
        .map(({ request_id }) => request_id)
        .filter((id) => !succeeded.includes(id))
        .sort(),
    );
  });
}
