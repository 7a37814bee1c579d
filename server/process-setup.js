/*
 * Sets what must be set before anything is loaded. `npm start` preloads it. It is plain JavaScript: a first
 * .ts file outside the compile cache would load the compiler of TypeScript, a tenth of the start and 10 MB.
 */
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Only the owner can read the files and folders of this process, because they hold payloads and results.
process.umask(0o077);

// These threads look up the names of agents. A name server that does not reply holds a thread for up to 40 s.
process.env.UV_THREADPOOL_SIZE ??= '16';

// At a steady load V8 would let its heap grow to four times what is in use before it collects. Each
// collection costs what is in use, so a larger growth is cheaper and takes more memory. At 100 % the heap
// doubles, and the gateway stays below 250 MB at 100 tasks a second.
setFlagsFromString('--heap-growing-percent=100');

// Node compiles every source when it first loads it. The cache keeps the result for later starts and for the
// threads of this process, which start sooner and take less memory. It is beside the packages, not in the
// folder for temporary files: its content is executed, and other users of the machine may write to that
// folder. If the folder beside the packages is read-only, there is no cache.
const folder = new URL('../node_modules/.cache/task-gateway', import.meta.url).pathname;
enableCompileCache(folder);
