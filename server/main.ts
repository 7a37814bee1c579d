/**
 * The server's entry: what must be set before anything is loaded, then the rest. `npm start` has preloaded
 * the first part; without that it is done here.
 */
import { getCompileCacheDir } from 'node:module';
import './process-setup.js';

// The threads of this process use the same cache.
const cacheFolder = getCompileCacheDir();
if (cacheFolder !== undefined) process.env.NODE_COMPILE_CACHE = cacheFolder;

const { startProcess } = await import('./start.ts');
await startProcess(process.env, process.argv.slice(2));
