/**
 * The suites; each folder of `test/` answers one question. The contract suite is one file that is run twice: on a mock
 * that knows the document alone, and on the real server.
 */
import { defineConfig } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;
const CONTRACT = 'test/contract/contract.test.ts';

export default defineConfig({
  root,
  resolve: { conditions: ['task-gateway-source'] },
  test: {
    // A CommonJS package looks to a test as it looks to Node.
    deps: { interopDefault: false },
    pool: 'threads',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [CONTRACT] } },
      {
        extends: true,
        test: { name: 'contract-mock', include: [CONTRACT], provide: { contractPeer: 'mock' as const } },
      },
      {
        extends: true,
        test: { name: 'contract-server', include: [CONTRACT], provide: { contractPeer: 'server' as const } },
      },
    ],
  },
});
