/**
 * How the simulator is bundled: one module that imports nothing, for Node and for browsers alike. The modules
 * and globals of Node that a gateway in memory uses are those of `bundled/`.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const find = (name: string): string => fileURLToPath(new URL(`bundled/${name}.ts`, import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  publicDir: false,
  resolve: {
    conditions: ['task-gateway-source', 'browser', 'module', 'import', 'default'],
    alias: { 'node:crypto': find('node-crypto'), 'node:net': find('node-net') },
  },
  plugins: [
    {
      // The document is read once and not over the network: what reads others is left out.
      name: 'leave-out',
      enforce: 'pre',
      load: (id) =>
        /json-schema-ref-parser\/dist\/lib\/(index|resolvers\/(http|file))\.js$/.test(id)
          ? 'export default { dereference() {}, resolve() {}, parse() {} };'
          : undefined,
    },
  ],
  build: {
    target: 'es2022',
    minify: true,
    reportCompressedSize: false,
    lib: { entry: 'index.ts', formats: ['es'], fileName: 'index' },
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      output: { codeSplitting: false },
      transform: {
        inject: {
          Buffer: [find('node-bytes'), 'Buffer'],
          setImmediate: [find('node-bytes'), 'setImmediate'],
        },
      },
    },
  },
});
