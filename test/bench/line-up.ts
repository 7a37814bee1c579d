/** The servers that are measured by turns: which they are, and on which stores they run. */
import { join } from 'node:path';
import { NAMES } from './goals.ts';
import {
  type Redis,
  type Server,
  startBare,
  startGateway,
  startPeer,
  startRedis,
  startReplicas,
} from './servers.ts';

const REPLICAS = 3;

export type LineUp = {
  /** For the files of the stores. */
  readonly folder: string;
  /** Whether one of each kind is enough. */
  readonly smoke: boolean;
  /** What stops the servers and their stores is added here. */
  readonly stops: (() => unknown)[];
};

/** This gateway on its stores, what a user would assemble instead, and the sketch. */
export async function startCompared(lineUp: LineUp, hasPeer = true): Promise<readonly Server[]> {
  const { folder, smoke } = lineUp;
  const servers = [
    await stopLater(lineUp, startGateway(NAMES.sqlite, `sqlite:${join(folder, 'gateway.db')}`)),
  ];
  if (!smoke) servers.push(await stopLater(lineUp, startGateway(NAMES.memory, 'memory:')));
  const [ours, shared, theirs] = [await addRedis(lineUp), await addRedis(lineUp), await addRedis(lineUp)];
  if (ours && shared && theirs) {
    if (!smoke) servers.push(await stopLater(lineUp, startGateway(NAMES.redis, ours)));
    servers.push(await stopLater(lineUp, startReplicas(NAMES.replicas, shared, smoke ? 1 : REPLICAS)));
    if (hasPeer) servers.push(await stopLater(lineUp, startPeer(NAMES.peer, theirs)));
  } else {
    console.log('**No redis-server was found: nothing on Redis is measured. Install it and run again.**\n');
  }
  servers.push(await stopLater(lineUp, startBare(NAMES.bare)));
  return servers;
}

/** This checkout beside another revision, whose files are in `root`, and the sketch. */
export async function startRevisions(
  lineUp: LineUp,
  revision: string,
  root: string,
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  const { folder } = lineUp;
  const add = async (name: string, store: string | Redis, of?: string): Promise<void> => {
    servers.push(await stopLater(lineUp, startGateway(name, store, of)));
  };
  const [ours, theirs] = [await addRedis(lineUp), await addRedis(lineUp)];
  await add(NAMES.sqlite, `sqlite:${join(folder, 'gateway.db')}`);
  await add(`sqlite, ${revision}`, `sqlite:${join(folder, 'revision.db')}`, root);
  if (ours && theirs) {
    await add(NAMES.redis, ours);
    await add(`Redis, ${revision}`, theirs, root);
  } else console.log('**No redis-server was found: only sqlite is compared.**\n');
  servers.push(await stopLater(lineUp, startBare(NAMES.bare)));
  return servers;
}

async function stopLater({ stops }: LineUp, starting: Promise<Server>): Promise<Server> {
  const server = await starting;
  stops.push(server.stop);
  return server;
}

async function addRedis({ stops }: LineUp): Promise<Redis | null> {
  const redis = await startRedis('always');
  if (redis) stops.push(redis.stop);
  return redis;
}
