/**
 * What event streams cost the gateway: memory for each of many, and the time until one event has reached all of them.
 * Gateway and readers are processes of their own. Options: `--streams N --events N --sessions N`; `--node FLAGS`
 * gives the gateway options of Node, such as those of its profiler (`--node=--cpu-prof`).
 */
import { parseArgs } from 'node:util';
import { submit } from '../e2e/wire.ts';
import { SECRET, startGateway } from '../fakes/gateway-process.ts';
import { tellFigure } from '../full/figure.ts';
import { startCrowd } from '../overload/crowd.ts';
import { percentile, readCpuMs, readRssKiB } from '../overload/measure.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    events: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '1' },
    node: { type: 'string', default: '' },
  },
});
const count = Number(values.streams);
const sessionNames = Array.from({ length: Number(values.sessions) }, (_, place) => `s${place}`);
const sessions = Array.from({ length: count }, (_, place) => sessionNames[place % sessionNames.length] ?? '');

const gateway = await startGateway({
  STREAMS_PER_SESSION_MAX: '1000000',
  ...(values.node !== '' && { NODE_OPTIONS: values.node }),
});
const crowd = startCrowd(gateway.baseUrl, SECRET);
try {
  // What serving compiles and loads once is not a stream's.
  for (let n = 0; n < 200; n += 1) await submit(gateway.baseUrl, { cli_session_id: '' });
  const warm = startCrowd(gateway.baseUrl, SECRET);
  await warm.open(Array.from({ length: 500 }, () => 'warm'));
  await warm.leave();
  const beforeKiB = readRssKiB(gateway.pid);
  const openMs = performance.now();
  await crowd.open(sessions);
  tellFigure('streams-open', performance.now() - openMs, 'ms');
  tellFigure('stream-memory-when-opened', (readRssKiB(gateway.pid) - beforeKiB) / count, 'KiB');
  const took: number[] = [];
  const cpu: number[] = [];
  for (let event = 1; event <= Number(values.events); event += 1) {
    const cpuMs = readCpuMs(gateway.pid);
    const startMs = performance.timeOrigin + performance.now();
    for (const session of sessionNames) await submit(gateway.baseUrl, { cli_session_id: session });
    const { lastMs } = await crowd.awaitEvents(event);
    took.push(lastMs - startMs);
    cpu.push(((readCpuMs(gateway.pid) - cpuMs) * 1_000) / count);
  }
  console.log(took.map((ms) => ms.toFixed(0)).join(' '));
  tellFigure('stream-memory', (readRssKiB(gateway.pid) - beforeKiB) / count, 'KiB');
  tellFigure(`event_to_${count}_streams_p50`, percentile(took, 0.5), 'ms');
  tellFigure(`event_to_${count}_streams_max`, Math.max(...took), 'ms');
  tellFigure('event-cpu-per-stream', percentile(cpu, 0.5), 'us');
} finally {
  await crowd.leave();
  await gateway.stop();
}
