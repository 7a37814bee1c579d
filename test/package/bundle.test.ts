/** What the client weighs in a bundle, and that nobody pays for what they do not use. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundle } from './bundle.ts';

/** What a page may be asked to load, gzipped. */
const CLIENT_BYTES_MAX = 10_000;

const bytesOf = (code: string): number => gzipSync(code, { level: 9 }).length;

test(`The whole client entry is at most ${CLIENT_BYTES_MAX} bytes gzipped, and asks for nothing of Node.`, async () => {
  const code = await bundle(`import * as kit from '@task-gateway/sdk'; globalThis.kit = kit;`);
  const bytes = bytesOf(code);
  console.info(`client entry: ${bytes} bytes gzipped, ${code.length} minified`);
  expect(bytes).toBeGreaterThan(3_000);
  expect(bytes).toBeLessThanOrEqual(CLIENT_BYTES_MAX);
  expect(code).not.toMatch(/node:|require\(/);
});

test('Nothing stays of an import that is not used, and little of one that uses an error alone.', async () => {
  expect(await bundle(`import '@task-gateway/sdk';`)).toMatch(/^\s*$/);
  const code = await bundle(
    `import { TaskFailedError } from '@task-gateway/sdk';
     globalThis.told = (error) => error instanceof TaskFailedError;`,
  );
  expect(bytesOf(code)).toBeLessThan(600);
  expect(code).not.toContain('/api/');
});
