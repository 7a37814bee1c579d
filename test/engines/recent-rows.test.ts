/** The embedded engine keeps a bounded part of what was written recently, whatever each commit reads. */
import { afterEach, expect, test } from 'vitest';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createTestFolder, openNotingReads } from './embedded-under-test.ts';
import { buildInput, buildState, must, settle, submissionOf } from './store-under-test.ts';

const PAYLOAD = 'x'.repeat(2 ** 20);
const TASKS = 12;

const testFolder = createTestFolder();
let store: Store | undefined;
afterEach(async () => {
  await store?.close();
  testFolder.remove();
});

test('Tasks with keys and sessions of their own, which each commit looks up in the file, do not stay in memory.', async () => {
  const reads: string[] = [];
  const openStorage = () => openNotingReads(testFolder.path, reads);
  store = await createEmbeddedStore({
    openStorage,
    clock: createFakeClock(),
    log: SILENT,
  });
  for (let n = 0; n < TASKS; n += 1) {
    const [id, cli_session_id] = [`t${n}`, `session ${n}`];
    const key = { kind: 'key', id: `key ${n}`, expect: 'absent', keepMs: 60_000 } as const;
    const value = { request_id: id, fingerprint: `${n}`, create_time: 0 };
    const submission = submissionOf(
      buildInput(id, { cli_session_id, payload: { text: PAYLOAD } }),
      buildState(store, { cli_session_id }),
    );
    must(await store.commit({ ...submission, writes: [...submission.writes, { ...key, value }] }));
    await settle(store, id);
  }
  reads.length = 0;
  for (let n = 0; n < TASKS; n += 1) expect(await store.get('input', `t${n}`)).toBeDefined();
  expect(reads).toContain('task/t0/input');
  expect(reads).not.toContain(`task/t${TASKS - 1}/input`);
});
