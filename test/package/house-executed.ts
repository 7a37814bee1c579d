/**
 * How many files of the server a submission executes, when the gateway is warm. `npm run house` prints it;
 * nothing compares it. The store is in memory, so what the writer's thread executes for a file is executed
 * here.
 */
import { Session } from 'node:inspector/promises';
import { setImmediate as nextTick } from 'node:timers/promises';
import { composeGateway } from '../../server/compose.ts';
import { readConfig } from '../../server/config/config.ts';
import { submit } from '../e2e/plain-calls.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { SILENT } from '../harness/silent-log.ts';

const SUBMISSIONS = 20;
/** In so many the gateway, which is in this process, has done what followed the last one. */
const TICKS = 1_000;

/** Counts them in this process. */
export async function countExecuted(): Promise<number> {
  const read = readConfig({ STORE: 'memory:', PORT: '0', GATEWAY_AUTH: SECRET });
  if (!read.ok) throw new Error(read.mistakes.join('; '));
  const gateway = await composeGateway(read.config, SILENT);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let files = 0;
  for (let n = 0; n < SUBMISSIONS; n += 1) {
    for (let ticks = 0; ticks < TICKS; ticks += 1) await nextTick();
    await session.post('Profiler.takePreciseCoverage');
    await submit(`http://127.0.0.1:${gateway.address.port}`, { queue_timeout: 60 });
    const { result } = await session.post('Profiler.takePreciseCoverage');
    files = result.filter(
      ({ url, functions }) =>
        /\/server\/[^?]*\.ts$/.test(url) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
    ).length;
  }
  session.disconnect();
  await gateway.stop();
  return files;
}
