/**
 * Puts a running gateway together from its settings: store, pusher, gateway, duties, server; and takes it apart again
 * in the order that loses nothing. Sees everything, decides nothing.
 */
import type { AddressInfo } from 'node:net';
import type { Config } from './config/config.ts';
import { startDuties } from './duties.ts';
import { openEmbeddedStore } from './engines/embedded/open.ts';
import { openRedisStore } from './engines/redis/open.ts';
import { createGateway } from './gateway/gateway.ts';
import { createHttp, HTTP_LIMITS } from './http/http.ts';
import type { Clock } from './ports/clock.ts';
import type { Log } from './ports/log.ts';
import type { Store } from './ports/store.ts';
import { createPusher } from './push/pusher.ts';
import { createClock } from './system/clock.ts';
import { createIds, random } from './system/ids.ts';

export type RunningGateway = {
  readonly address: AddressInfo;
  /**
   * Readiness says 503, nobody new is let in, long polls are answered, streams end with a time to come back, pushes
   * under way get two seconds, what is committed is written. Within the configured time; twice is fine.
   */
  stop(): Promise<void>;
};

/** Longest time a task may stay open, whatever its `timeout` says. */
const TIMEOUT_MAX_MS = 7 * 24 * 3_600_000;
/** An idempotency key answers repeats for so long. */
const KEEP_KEYS_MS = 24 * 3_600_000;
/** Pushes under way at once. */
const PUSHES_MAX = 5_000;
/** Of a shutdown's time, the share that callers and pushes get to finish by themselves. */
const GRACE_SHARE = 0.4;

/** Opens the store and starts everything over it; rejects with one sentence when it cannot. */
export async function composeGateway(config: Config, log: Log): Promise<RunningGateway> {
  const clock = createClock();
  const store = await openStore(config, clock, log);
  try {
    return await startOver(store, clock, config, log);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openStore(
  { store, redisDurability: durability }: Config,
  clock: Clock,
  log: Log,
): Promise<Store> {
  switch (store.kind) {
    case 'memory':
      return await openEmbeddedStore({ storage: 'memory:', clock, log });
    case 'sqlite':
      return await openEmbeddedStore({ storage: `sqlite:${store.file}`, clock, log });
    case 'redis':
      return await openRedisStore({ address: store.address, durability, clock, log });
  }
}

async function startOver(store: Store, clock: Clock, config: Config, log: Log): Promise<RunningGateway> {
  const pusher = createPusher({ clock, ...config.push });
  const { gateway, duties } = createGateway({
    store,
    clock,
    ids: createIds(),
    random,
    pusher,
    log,
    limits: {
      timeoutMaxMs: TIMEOUT_MAX_MS,
      openTasksMax: config.openTasksMax,
      keepKeysMs: KEEP_KEYS_MS,
      agentsMax: config.agentsMax,
      pushesMax: PUSHES_MAX,
    },
    retention: { keepTasksMs: config.keepTasksMs, sessionEventsMax: config.sessionEventsMax },
  });
  const http = await createHttp({
    gateway,
    secrets: { gateway: config.gatewayAuth, admin: config.adminAuth },
    limits: {
      ...HTTP_LIMITS,
      bodyBytesMax: config.bodyBytesMax,
      streamsMax: config.streamsMax,
      sessionStreamsMax: config.streamsPerSessionMax,
      connectionsMax: config.connectionsMax,
    },
    settings: {
      isAgentAuthRequired: config.agentAuthRequired,
      corsOrigins: config.corsOrigins,
      pingIntervalMs: config.pingIntervalMs,
    },
    clock,
    random,
    log,
  });
  const address = await http.listen({ host: config.host, port: config.port });
  const running = startDuties({ duties, store, clock, log });

  async function stop(): Promise<void> {
    const graceMs = config.shutdownMs * GRACE_SHARE;
    const drained = http.drain(graceMs);
    await running.stop();
    await Promise.all([drained, duties.drainPushes(graceMs)]);
    await pusher.close();
    await store.close();
  }

  let stopping: Promise<void> | null = null;
  return {
    address,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}
