/** The gateway as `server/main.ts` starts it, with a test's limits: JSON in `TEST_LIMITS`. */
import '../../server/process-setup.js';

const { startProcess } = await import('../../server/start.ts');
await startProcess(process.env, [], JSON.parse(process.env.TEST_LIMITS ?? '{}'));
