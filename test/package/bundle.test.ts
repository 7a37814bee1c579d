/** The size of the client in a bundle, and that what is not used is not in it. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundle, bundleChunks } from './bundle.ts';

/** What a page may be asked to load, gzipped; 2,190 of it are openapi-fetch. */
const CLIENT_BYTES_MAX = 10_000;
/** What the first run loads beside it, and the first subscription a part of that. */
const LATER_BYTES_MAX = 5_000;
/** What the first reader of an output loads beside the part of a run that it shares. */
const OUTPUT_BYTES_MAX = 3_000;
/** What the first explanation, agent's call or administrator's call loads. */
const CALLS_BYTES_MAX = 1_800;
const EVERYTHING = `import * as kit from '@task-gateway/sdk'; globalThis.kit = kit;`;

const bytesOf = (code: string): number => gzipSync(code, { level: 9 }).length;

test(`The whole client entry is at most ${CLIENT_BYTES_MAX} bytes gzipped, and needs nothing of Node.`, async () => {
  const chunks = await bundleChunks(EVERYTHING);
  const [entry, ...later] = [...chunks].sort((a, b) => Number(b.isEntry) - Number(a.isEntry));
  const bytes = bytesOf(entry?.code ?? '');
  const laterCalls = later.find(({ name }) => name.startsWith('assets/later-calls-'));
  const output = later.find(({ name }) => name.startsWith('assets/output-'));
  const runs = later.filter((one) => one !== laterCalls && one !== output);
  const outputBytes = bytesOf(output?.code ?? '');
  const callBytes = bytesOf(laterCalls?.code ?? '');
  const laterBytes = runs.reduce((sum, { code }) => sum + bytesOf(code), 0);
  console.info(
    `client entry: ${bytes} bytes gzipped; runs and streams: ${laterBytes} in ${runs.length} files; ` +
      `outputs: ${outputBytes}; explanations and administration: ${callBytes}`,
  );
  expect(bytes).toBeGreaterThan(3_000);
  expect(bytes).toBeLessThanOrEqual(CLIENT_BYTES_MAX);
  expect(runs.map(({ name }) => name.replace(/-.*/, '')).sort()).toEqual(['assets/run', 'assets/session']);
  expect(laterBytes).toBeLessThanOrEqual(LATER_BYTES_MAX);
  expect(outputBytes).toBeGreaterThan(500);
  expect(outputBytes).toBeLessThanOrEqual(OUTPUT_BYTES_MAX);
  expect(callBytes).toBeGreaterThan(500);
  expect(callBytes).toBeLessThanOrEqual(CALLS_BYTES_MAX);
  for (const { code } of chunks) expect(code).not.toMatch(/node:|require\(/);
});

test('A bundle in one file has runs and streams too, and imports nothing later.', async () => {
  const code = await bundle(EVERYTHING);
  expect(code).not.toMatch(/import\(/);
  expect(code).toContain('The server closed the stream.');
});

test('Nothing remains of an import that is not used, and little of one that uses an error alone.', async () => {
  expect(await bundle(`import '@task-gateway/sdk';`)).toMatch(/^\s*$/);
  const code = await bundle(
    `import { TaskFailedError } from '@task-gateway/sdk';
     globalThis.check = (error) => error instanceof TaskFailedError;`,
  );
  expect(bytesOf(code)).toBeLessThan(600);
  expect(code).not.toContain('/api/');
});
