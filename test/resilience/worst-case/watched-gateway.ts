/**
 * A gateway process whose CPU is measured: that of all its threads, and the longest piece of its main one.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';

/** In milliseconds of CPU. */
export type Cost = {
  /** The longest uninterrupted piece of the main thread. */
  readonly pieceMs: number;
  /** All threads of the gateway. */
  readonly cpuMs: number;
  /** The process that keeps its data, if that is another one. */
  readonly serverMs: number;
};

export type WatchedGateway = Pick<GatewayProcess, 'baseUrl' | 'stop'> & {
  /** What is done until the work resolves. */
  measure(work: () => Promise<unknown>): Promise<Cost>;
  /** The same since it listens. Only before any other measure. */
  measureStart(work: () => Promise<unknown>): Promise<Cost>;
  /** Resolves when almost nothing is done any more: what calls before have left is over. */
  untilQuiet(): Promise<void>;
};

/** Less CPU than `BUSY_MS` in this much time counts as nothing. */
const QUIET_MS = 30;
const BUSY_MS = 5;
/** What has not become quiet by then never does. */
const QUIET_WITHIN_MS = 60_000;
const PRELOAD = new URL('./watched-process.ts', import.meta.url).href;

type Times = ReadonlyMap<string, number>;

/** Starts a gateway with these settings, beside the process that keeps its data if that is another one. */
export async function startWatched(
  env: Readonly<Record<string, string>>,
  serverPid: number | null,
): Promise<WatchedGateway> {
  const gateway = await startGateway({ NODE_OPTIONS: `--import=${PRELOAD}`, ...env });
  const readAll = () => ({
    own: readThreads(gateway.pid),
    server: serverPid === null ? new Map() : readThreads(serverPid),
  });
  const atStart = readAll();
  const url = `http://127.0.0.1:${/watched on port (\d+)/.exec(gateway.output())?.[1]}`;
  const watch = async (path: 'begin' | 'end'): Promise<number> =>
    Number(await (await fetch(`${url}/${path}`)).text());
  const measureSince = async (
    before: ReturnType<typeof readAll>,
    work: () => Promise<unknown>,
  ): Promise<Cost> => {
    await work();
    const after = readAll();
    const cpuMs = sumMs(after.own, before.own);
    return { cpuMs, serverMs: sumMs(after.server, before.server), pieceMs: await watch('end') };
  };
  return {
    baseUrl: gateway.baseUrl,
    stop: gateway.stop,
    async measure(work) {
      await watch('begin');
      return await measureSince(readAll(), work);
    },
    measureStart: (work) => measureSince(atStart, work),
    async untilQuiet() {
      const endMs = performance.now() + QUIET_WITHIN_MS;
      for (let cpuMs = BUSY_MS; cpuMs >= BUSY_MS; ) {
        if (performance.now() > endMs) throw new Error('The gateway did not become quiet.');
        const before = readThreads(gateway.pid);
        await sleep(QUIET_MS);
        cpuMs = sumMs(readThreads(gateway.pid), before);
      }
    },
  };
}

/** CPU of each thread of the process until now, in ms. */
function readThreads(pid: number): Times {
  const folders = readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`);
  const readMs = (folder: string): number =>
    Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  return new Map(folders.filter((folder) => existsSync(folder)).map((folder) => [folder, readMs(folder)]));
}

/** CPU of all threads since then; a thread that has ended meanwhile is left out. */
function sumMs(threads: Times, before: Times = new Map()): number {
  return [...threads].reduce((sum, [id, ms]) => sum + ms - (before.get(id) ?? 0), 0);
}
