/**
 * The server's entry. It sets what must be set before anything else is loaded, then loads the rest. `npm
 * start` has preloaded the first part already.
 */
import { getCompileCacheDir } from 'node:module';
import './process-setup.js';

// The threads of this process use the same cache.
const cacheFolder = getCompileCacheDir();
if (cacheFolder !== undefined) process.env.NODE_COMPILE_CACHE = cacheFolder;

const { startProcess } = await import('./start.ts');
await startProcess(process.env, process.argv.slice(2));
