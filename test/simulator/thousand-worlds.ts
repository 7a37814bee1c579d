/** Creates 1,000 worlds in one process and submits a task in each; prints what they hold. */
import { createSimulator } from '../../server/simulator/index.ts';

const WORLDS = 1_000;
const collect = globalThis.gc ?? (() => undefined);
const measure = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
const BODY = JSON.stringify({
  auth: 'simulator-secret',
  task_type: 't',
  task_tags: ['a'],
  payload: {},
  queue_timeout: 60,
  cli_session_id: 's',
});

/** Submits a task; resolves with the status. */
async function submit(simulator: ReturnType<typeof createSimulator>, path: string): Promise<number> {
  const url = `http://simulator.test${path}/api/cli/tasks`;
  const { status } = await simulator.fetch(new Request(url, { method: 'POST', body: BODY }));
  return status;
}

const simulator = createSimulator();
// The validators of the document are compiled once, whatever the number of worlds.
await submit(simulator, '');
collect();
const before = measure();
const names = Array.from({ length: WORLDS }, (_, n) => `w${n}`);
for (const name of names) simulator.world(name);
let created = 0;
for (const name of names) created += (await submit(simulator, `/worlds/${name}`)) === 200 ? 1 : 0;
collect();
const bytes = measure() - before;
process.stdout.write(JSON.stringify({ created, bytes }));
