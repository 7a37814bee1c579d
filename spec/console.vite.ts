/**
 * How the console is built: a script that all pages share, one more for each page, and one style sheet. A
 * file's name changes with its content, so that an open page never loads a part of another version, and a
 * browser may keep each file for good. The same sources give the same bytes.
 */
import { dirname } from 'node:path';
import { defaultClientConditions, defineConfig, type Plugin } from 'vite';

/** Modules that the console does not need, each with the code that stands in for it. */
const UNUSED: readonly { readonly id: RegExp; readonly code: string }[] = [
  // The style sheet is loaded with the page, so a script has nothing to load before it.
  { id: /^\0vite\/preload-helper\.js$/, code: 'export const __vitePreload = (load) => load();' },
  // A person at a console submits tasks and looks at them; none waits here for a result.
  { id: /\/sdk\/run\.ts$/, code: 'export const createRunTask = undefined;' },
  { id: /\/sdk\/stream\/questions\.ts$/, code: 'export const createRunQuestions = undefined;' },
  // Nor is a console an agent.
  { id: /\/sdk\/agent-calls\.ts$/, code: 'export const createAgentCalls = () => ({});' },
];

const JSX_IMPORT = "import { h, Fragment } from 'preact'";

/** The checkout, whose own name means nothing. */
const ROOT = dirname(import.meta.dirname);

/**
 * The parts that most pages share, which are one script: without what is loaded when someone asks for it,
 * or after the page of a task.
 */
const SHARED =
  /\/node_modules\/|\/sdk\/(?!stream\/output)|\/console\/(app|gateway|keyboard\/(?!help)|main|parts|routing|shell\/(?!jump-(target|suggestions))|theme)|preload-helper|\/pages\/(sign-in|no-page)/;

const leaveOut: Plugin = {
  name: 'leave-out',
  enforce: 'pre',
  load: (id) => UNUSED.find((one) => one.id.test(id))?.code,
};

export default defineConfig({
  root: `${import.meta.dirname}/../server/console`,
  base: './',
  publicDir: false,
  plugins: [leaveOut],
  // The SDK's sources, which are always there.
  resolve: { conditions: ['task-gateway-source', ...defaultClientConditions] },
  // The calls of the classic form are the shorter ones.
  oxc: { jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' }, jsxInject: JSX_IMPORT },
  build: {
    // Browsers that have light-dark() have all of it.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      output: {
        entryFileNames: 'console-[hash].js',
        codeSplitting: { groups: [{ name: 'parts', test: (id) => SHARED.test(id.replace(ROOT, '')) }] },
        chunkFileNames: '[name]-[hash].js',
        assetFileNames: '[name]-[hash][extname]',
      },
    },
  },
});
