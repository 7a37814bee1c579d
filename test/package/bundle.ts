/**
 * Bundles a few lines that use the SDK as its users' bundlers do: minified, for browsers, without unused
 * code.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url));
const ENTRY = 'virtual:entry';

/** The code of a bundle of these lines, in one file. Rejects where they need what a browser does not have. */
export async function bundle(lines: string): Promise<string> {
  const built = await build({
    root: SDK,
    configFile: false,
    logLevel: 'error',
    resolve: { conditions: ['task-gateway-source', 'browser', 'module', 'import', 'default'] },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === ENTRY ? `${SDK}${ENTRY}.ts` : undefined),
        load: (id) => (id.endsWith(`${ENTRY}.ts`) ? lines : undefined),
      },
    ],
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      rollupOptions: { input: ENTRY, output: { format: 'es', codeSplitting: false } },
      modulePreload: false,
    },
  });
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const chunks = outputs.flatMap((one) => (one.type === 'chunk' ? [one.code] : []));
  if (chunks.length !== 1) throw new Error(`The bundle has ${chunks.length} files.`);
  return chunks[0] ?? '';
}
