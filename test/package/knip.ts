/**
 * What is used, for `knip` (a part of `npm run lint`): no export that no other file imports, no file that
 * nothing reaches, no dependency that nothing needs. The entries are what is started in another way than by
 * an import.
 */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  workspaces: {
    '.': {
      entry: [
        // Started by .ci/run, by vitest, and by hand.
        '.ci/count.js',
        '.ci/missing-packages.js',
        '.ci/skipped.js',
        'test/**/*.test.ts',
        'test/contract/document-figures.ts',
        'test/contract/try-generators.ts',
        'test/sdk/install-python.ts',
        // Compiled, never run.
        'test/http/handlers.check.ts',
        'test/**/*.test-d.ts',
        // Scripts that are `exec node …`, which knip does not read; `npm start` is one too.
        ...['test/e2e/demo.ts', 'test/e2e/mock.ts', 'test/e2e/simulator.ts'],
        // Processes of their own, and what is loaded into one.
        'test/bench/sketch.ts',
        'test/bench/output-process.ts',
        'test/bench/workload-process.ts',
        'test/cli/many-commands.ts',
        'test/harness/limited-main.ts',
        'test/properties/moved-clock.ts',
        'test/resilience/asking-agent.ts',
        'test/resilience/worst-case/watched-process.ts',
        'test/sdk/agent-process.ts',
        'spec/main.tsp',
        // Loaded by the TypeSpec compiler.
        'spec/checks.js',
        // Loaded by the page at /docs.
        'spec/docs/page.js',
        // Read by Vite.
        'spec/console.vite.ts',
      ],
      project: [
        ...['.ci/**', 'spec/**/*.{ts,js,tsp}', 'test/**/*.{ts,js}', '!test/bench/peer/**'],
        ...['!test/conformance/**'],
      ],
      vitest: { config: 'test/vitest.config.ts' },
      ignoreDependencies: [
        // Its files are copied.
        'swagger-ui-dist',
        // Of an example of the SDK.
        'fastify',
        // Run as commands, by the paths of their files.
        ...['@arethetypeswrong/cli', '@hey-api/openapi-ts', '@redocly/cli', 'openapi-typescript', 'publint'],
        ...['@stoplight/prism-cli', '@stoplight/spectral-cli', 'swagger-typescript-api', 'typed-openapi'],
        // Named in spec/.spectral.yaml and spec/tspconfig.yaml; the last one is loaded by the emitter where
        // it is there.
        ...['@stoplight/spectral-owasp-ruleset', '@typespec/openapi3', '@typespec/sse'],
      ],
    },
    server: {
      // Threads are started by their file's name; the console is built by Vite.
      entry: [
        ...['main.ts', 'process-setup.js', 'engines/sqlite/*-thread.ts', 'console/main.tsx'],
        'bin/task-gateway-server.js',
      ],
      project: ['**/*.{ts,tsx,js}'],
    },
    'server/simulator': {
      // Put in place of modules of Node by the bundler.
      entry: ['index.ts', 'build.js', 'bundle.vite.ts'],
      project: ['**/*.{ts,js}'],
    },
    sdk: {
      entry: ['cli/main.ts', 'agent/heartbeat-thread.ts', 'examples/**/*.{js,ts}'],
      project: ['**/*.{ts,js}'],
    },
    'test/conformance': {
      entry: [
        ...['bin/*.js', 'command.ts', 'control-table.ts', 'running-client.ts', 'streaming-client.ts'],
        ...['*.test.ts'],
      ],
      project: ['**/*.{ts,js}'],
    },
    generated: { project: [] },
  },
  compilers: {
    tsp: (text) => text.match(/^import ".+";$/gm)?.join('\n') ?? '',
  },
  // The tests use packages of the server as they are installed for it, and programs of the machine.
  exclude: ['unlisted', 'binaries'],
};

export default config;
