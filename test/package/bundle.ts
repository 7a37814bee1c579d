/**
 * Bundles a few lines that use the SDK as its users' bundlers do: minified, for browsers, without unused
 * code. What the SDK imports later becomes files (chunks) of its own, or part of the one file.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url));
const ENTRY = 'virtual:entry';

/** A file of a bundle: its name, and its code. */
export type Chunk = { readonly name: string; readonly code: string; readonly isEntry: boolean };

/** The files of a bundle of these lines. Rejects where they need what a browser does not have. */
export async function bundleChunks(lines: string, codeSplitting = true): Promise<readonly Chunk[]> {
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
      {
        // Vite's own code around import(), 1 kB for a whole application, which is not the SDK's.
        name: 'plain-import',
        enforce: 'pre',
        load: (id) =>
          id.includes('vite/preload-helper') ? 'export const __vitePreload = (load) => load();' : undefined,
      },
    ],
    base: './',
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      rollupOptions: { input: ENTRY, output: { format: 'es', codeSplitting } },
      modulePreload: false,
    },
  });
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  return outputs.flatMap((one) =>
    one.type === 'chunk' ? [{ name: one.fileName, code: one.code, isEntry: one.isEntry }] : [],
  );
}

/** The code of a bundle of these lines, in one file. */
export async function bundle(lines: string): Promise<string> {
  const chunks = await bundleChunks(lines, false);
  if (chunks.length !== 1) throw new Error(`The bundle has ${chunks.length} files.`);
  return chunks[0]?.code ?? '';
}
