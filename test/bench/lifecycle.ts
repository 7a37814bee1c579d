/**
 * The whole life of a task over real sockets: HTTP submit → push to an agent → HTTP result → SSE event. The
 * load is a process of its own; what is measured is the server's processes and their store.
 */

import { readCpuMs, readRssMb, sumOver } from './process-figures.ts';
import type { Server } from './servers.ts';
import { type Load, runLoad } from './workload.ts';

/** One load on one server. */
export type Round = {
  /** CPU of the server and of the store it runs on, all their threads, per task. */
  readonly cpuMs: number;
  readonly tasksPerSecond: number;
  readonly tookMs: readonly number[];
  /** Resident memory of the same processes, after the round. */
  readonly rssMb: number;
};

/** A server and its rounds by the name of their load; those at one index ran next to each other. */
export type Measured = {
  readonly name: string;
  /** Its resident memory before the first task. */
  readonly idleMb: number;
  readonly rounds: ReadonlyMap<string, Round[]>;
};

/** Of each process: then V8 has compiled what runs again and again; before, a task costs a fifth more. */
const WARM_UP_TASKS = 20_000;
const WARM_UP_IN_FLIGHT = 64;

/**
 * Runs every load on every server, this many rounds, one after the other. Every other round runs in reverse
 * order, so that none is always behind the same other. `warmUpShare` scales the tasks before the first round.
 */
export async function measureServers(
  servers: readonly Server[],
  loads: readonly Load[],
  rounds: number,
  warmUpShare = 1,
): Promise<readonly Measured[]> {
  const measured = servers.map(
    ({ name, pids }): Measured => ({
      name,
      idleMb: sumOver(pids, readRssMb),
      rounds: new Map(loads.map((load) => [load.name, []])),
    }),
  );
  const tasks = Math.ceil(WARM_UP_TASKS * warmUpShare);
  const warmUp: Load = { name: 'warm-up', tasks, pace: { inFlight: WARM_UP_IN_FLIGHT } };
  for (const server of servers)
    await runRound(server, 'warm-up', { ...warmUp, tasks: tasks * server.urls.length });
  for (let n = 0; n < rounds; n += 1) {
    for (const load of loads) {
      const order = n % 2 === 0 ? [...servers.entries()] : [...servers.entries()].reverse();
      for (const [index, server] of order) {
        const round = await runRound(server, `${load.name}-${n}`, load);
        measured[index]?.rounds.get(load.name)?.push(round);
      }
    }
  }
  return measured;
}

async function runRound({ urls, pids }: Server, session: string, load: Load): Promise<Round> {
  let [beforeMs, cpuMs, rssMb] = [0, 0, 0];
  const { tookMs, wallMs } = await runLoad(
    { urls, session, load },
    {
      onStart: () => {
        beforeMs = sumOver(pids, readCpuMs);
      },
      onEnd: () => {
        cpuMs = sumOver(pids, readCpuMs) - beforeMs;
        rssMb = sumOver(pids, readRssMb);
      },
    },
  );
  const tasksPerSecond = (tookMs.length / wallMs) * 1_000;
  return { cpuMs: cpuMs / tookMs.length, tasksPerSecond, tookMs, rssMb };
}
