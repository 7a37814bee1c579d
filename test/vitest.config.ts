/** The suites that run without a network of their own; each folder of `test/` answers one question. */
import { defineConfig } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;

export default defineConfig({
  root,
  resolve: { conditions: ['task-gateway-source'] },
  test: {
    include: ['test/**/*.test.ts'],
    // A CommonJS package looks to a test as it looks to Node.
    deps: { interopDefault: false },
    pool: 'threads',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
