/**
 * What event streams cost the gateway: memory for each of many, and the time until one event has reached all
 * of them. Gateway and readers are processes of their own.
 */
import { submit } from '../e2e/plain-calls.ts';
import { SECRET, startLimitedGateway } from '../harness/gateway-process.ts';
import { percentile, readCpuMs, readRssKiB } from '../resilience/process-cost.ts';
import { startStreamReaders } from '../resilience/stream-readers.ts';

export type Streaming = {
  readonly streams: number;
  readonly sessions: number;
  /** Until all were open. */
  readonly openMs: number;
  readonly memoryKiB: number;
  /** From a submission that ends at once until the last reader has its event. */
  readonly p50Ms: number;
  readonly mostMs: number;
  /** Server CPU for each stream and event. */
  readonly cpuUs: number;
};

const EVENTS = 10;

/** Opens this many streams, spread over this many sessions, and sends events to all of them. */
export async function measureStreams(streams: number, sessions: number): Promise<Streaming> {
  const names = Array.from({ length: sessions }, (_, index) => `s${index}`);
  const gateway = await startLimitedGateway({ streamsOfOneMax: 1_000_000 });
  const readers = startStreamReaders(gateway.baseUrl, SECRET);
  try {
    // What is compiled and loaded once is not counted as a stream's.
    for (let n = 0; n < 200; n += 1) await submit(gateway.baseUrl, { cli_session_id: '' });
    const warm = startStreamReaders(gateway.baseUrl, SECRET);
    await warm.open(Array.from({ length: Math.min(500, streams) }, () => 'warm'));
    await warm.leave();
    const beforeKiB = readRssKiB(gateway.pid);
    const beganMs = performance.now();
    await readers.open(Array.from({ length: streams }, (_, index) => names[index % sessions] ?? ''));
    const openMs = performance.now() - beganMs;
    const memoryKiB = (readRssKiB(gateway.pid) - beforeKiB) / streams;
    const took: number[] = [];
    const cpuUs: number[] = [];
    for (let event = 1; event <= EVENTS; event += 1) {
      const cpuMs = readCpuMs(gateway.pid);
      const startMs = performance.timeOrigin + performance.now();
      for (const session of names) await submit(gateway.baseUrl, { cli_session_id: session });
      const { lastMs } = await readers.awaitEvents(event);
      took.push(lastMs - startMs);
      cpuUs.push(((readCpuMs(gateway.pid) - cpuMs) * 1_000) / streams);
    }
    const [p50Ms, mostMs] = [percentile(took, 0.5), Math.max(...took)];
    return { streams, sessions, openMs, memoryKiB, p50Ms, mostMs, cpuUs: percentile(cpuUs, 0.5) };
  } finally {
    await readers.leave();
    await gateway.stop();
  }
}
