/** The size of the client in a bundle, and that what is not used is not in it. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundle } from './bundle.ts';

/** What a page may be asked to load, gzipped; 2,190 of it are openapi-fetch. */
const CLIENT_BYTES_MAX = 11_800;

const bytesOf = (code: string): number => gzipSync(code, { level: 9 }).length;

test(`The whole client entry is at most ${CLIENT_BYTES_MAX} bytes gzipped, and needs nothing of Node.`, async () => {
  const code = await bundle(`import * as kit from '@task-gateway/sdk'; globalThis.kit = kit;`);
  const bytes = bytesOf(code);
  console.info(`client entry: ${bytes} bytes gzipped, ${code.length} minified`);
  expect(bytes).toBeGreaterThan(3_000);
  expect(bytes).toBeLessThanOrEqual(CLIENT_BYTES_MAX);
  expect(code).not.toMatch(/node:|require\(/);
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
