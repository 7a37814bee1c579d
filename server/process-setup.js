/*
 * Sets what must be set before anything is loaded. `npm start` preloads it. It is plain JavaScript: if the
 * first file were a .ts file outside the compile cache, it would load the compiler of TypeScript, a tenth of
 * the start and 10 MB.
 */
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Every file and folder that this process creates is its owner's alone: they hold payloads and results.
process.umask(0o077);

// Names of agents are looked up on these threads: one whose server does not reply holds a thread for up to
// 40 s.
process.env.UV_THREADPOOL_SIZE ??= '16';

// At a steady load V8 would let its heap grow to four times what is in use before it collects. Each
// collection costs what is in use, so twice the growth is half the cost, and more memory: with as much again
// the gateway stays below 250 MB at 100 tasks a second.
setFlagsFromString('--heap-growing-percent=100');

// Node compiles every source when it first loads it; the cache keeps the result for later starts and for the
// threads of this process, which then start sooner and take less memory. It is beside the packages, not in
// the folder for temporary files: what is in it is executed, and other users of the machine may write there.
// Where this folder is read-only there is no cache.
const folder = new URL('../node_modules/.cache/task-gateway', import.meta.url).pathname;
enableCompileCache(folder);
