/** How the simulator is bundled: one module for Node, with all packages in it. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Files that the bundle replaces, with their replacements. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  // This file loads the router at run time, from a folder that the bundle does not have.
  [
    /server\/http\/node-http\.ts$/,
    `export { default as Router } from '@koa/router'; export const http = process.getBuiltinModule('node:http');`,
  ],
  // The document is at hand, so readers of files and URLs are left out.
  [
    /json-schema-ref-parser\/dist\/lib\/(index|resolvers\/(http|file))\.js$/,
    'export default { dereference() {}, resolve() {}, parse() {} };',
  ],
];

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  publicDir: false,
  resolve: { conditions: ['task-gateway-source', 'node', 'import', 'default'] },
  ssr: { noExternal: true, resolve: { conditions: ['task-gateway-source', 'node', 'import', 'default'] } },
  plugins: [
    {
      name: 'instead',
      enforce: 'pre',
      load: (id) => INSTEAD.find(([file]) => file.test(id))?.[1],
    },
  ],
  build: {
    ssr: 'index.ts',
    target: 'node22',
    minify: true,
    reportCompressedSize: false,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      output: { codeSplitting: false, entryFileNames: 'index.js' },
      // A package evaluates a function to warn with.
      checks: { eval: false },
    },
  },
});
