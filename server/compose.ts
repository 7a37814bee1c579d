/**
 * Composes a running gateway from its configuration: store, pusher, gateway, HTTP server and background
 * duties. It stops them in an order in which no accepted work is lost. Only this file knows all the parts.
 */
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createLargeWork } from './async/large-work.ts';
import type { Config } from './config/config.ts';
import { countPushesMax, countStreamsMax, FIXED_LIMITS } from './config/fixed-limits.ts';
import { startDuties } from './duties.ts';
import { openFileStore, openMemoryStore } from './engines/sqlite/open.ts';
import type { OverviewSettings } from './gateway/admin/overview/overview.ts';
import { createGateway } from './gateway/gateway.ts';
import { createHttp, HTTP_LIMITS, type HttpDeps, type HttpLimits } from './http/http.ts';
import { createObservability } from './observability/observability.ts';
import { observeCommits, observePushes } from './observability/observers.ts';
import type { Clock } from './ports/clock.ts';
import { STORE_LIMITS } from './ports/limits.ts';
import type { Log } from './ports/log.ts';
import type { Store } from './ports/store.ts';
import { createPusher } from './push/pusher.ts';
import { createClock } from './system/clock.ts';
import { countDescriptors, readDescriptorsMax } from './system/descriptors.ts';
import { createIds, random } from './system/ids.ts';
import { type MemoryBudgets, readMemoryBudgets } from './system/memory-budgets.ts';
import { releaseStartMemory } from './system/start-memory.ts';
import { loadTracing } from './system/tracing.ts';

export type RunningGateway = {
  readonly address: AddressInfo;
  /**
   * Serves all calls for the configured time, while callers are sent elsewhere: `/readyz` responds 503, and
   * open event streams tell their readers when to reconnect. Connections stay open. `stop()` comes next.
   */
  drain(): Promise<void>;
  /**
   * Shuts down within the configured time. New connections are refused, and open ones close after their next
   * response. Long polls return, event streams tell their readers when to reconnect, and pushes in progress
   * get a grace period. Everything committed is written. Idempotent.
   */
  stop(): Promise<void>;
};

/** The share of the shutdown time for requests and pushes in progress. */
export const GRACE_SHARE = 0.4;

/** How long after the start the rest is loaded, unless it is needed earlier. */
const PREPARE_AFTER_MS = 1_000;

/**
 * Opens the store and starts everything on it. Rejects with an error whose message is for people. Only tests
 * set `limits`.
 */
export async function composeGateway(
  config: Config,
  log: Log,
  limits: Partial<HttpLimits> = {},
): Promise<RunningGateway> {
  const clock = createClock();
  const budgets = readMemoryBudgets();
  const store = await openStore(config, clock, log);
  try {
    return await startOnStore(store, { clock, ...budgets, limits }, config, log);
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
      return openMemoryStore({ clock, log });
    case 'sqlite':
      return await openFileStore(store.file, { clock, log });
    case 'redis': {
      // Imported only here, because the Redis client is a third of all modules.
      const { openRedisStore } = await import('./engines/redis/open.ts');
      const { outputEveryMs } = STORE_LIMITS;
      return await openRedisStore({ address: store.address, durability, clock, log, outputEveryMs });
    }
  }
}

/**
 * Loads and compiles what the first calls have not needed, piece by piece. After each piece, calls get as
 * much time as the piece took. A failure is logged, and the next call that needs the piece loads it again.
 */
async function prepareLater(
  clock: Clock,
  log: Log,
  preparations: readonly (() => void | Promise<void>)[],
): Promise<void> {
  await clock.sleep(PREPARE_AFTER_MS);
  for (const prepare of preparations) {
    const startedMs = clock.monotonicMs();
    try {
      await prepare();
    } catch (error) {
      log.warn({ err: error }, 'a part that calls may need could not be loaded ahead of them');
    }
    await clock.sleep(clock.monotonicMs() - startedMs);
  }
}

async function startOnStore(
  openedStore: Store,
  {
    clock,
    agentBytesMax,
    limits,
  }: { readonly clock: Clock; readonly limits: Partial<HttpLimits> } & MemoryBudgets,
  config: Config,
  log: Log,
): Promise<RunningGateway> {
  const observability = createObservability({ clock, log });
  const { observer } = observability;
  const store = observeCommits(openedStore, { clock, observer });
  const pusher = observePushes(createPusher({ clock, log, ...config.push }), { clock, observer });
  const shared = { store, clock, random, pusher, log, observer, largeWork: createLargeWork() };
  const { gateway, duties, figures } = createGateway({
    ...shared,
    ids: createIds(),
    limits: {
      ...FIXED_LIMITS,
      pushesMax: countPushesMax(readDescriptorsMax()),
      openTasksMax: config.openTasksMax,
      agentsMax: config.agentsMax,
      agentBytesMax,
    },
    retention: {
      keepTasksMs: config.keepTasksMs,
      sessionEventsMax: config.sessionEventsMax,
      outputBytesMax: config.outputBytesMax,
    },
    tracing: await loadTracing(log),
    overviewSettings: selectOverviewSettings(config),
  });
  const http = await createHttp({
    ...shared,
    ...selectHttpSettings(config, limits),
    gateway,
    renderMetrics: () => renderMetrics(),
  });
  const renderMetrics = observability.createMetricsPage({
    store,
    figures,
    countDescriptors,
    storeKind: config.store.kind,
    openTasksMax: config.openTasksMax,
    streamCount: http.streamCount,
    version: http.version,
  });
  const address = await http.listen({ host: config.host, port: config.port });
  const runningDuties = startDuties({ duties, store, clock, log });
  // The compile cache is written soon, so that the next process has it even if this one is killed.
  void prepareLater(clock, log, [
    pusher.prepare,
    ...http.preparations,
    flushCompileCache,
    releaseStartMemory,
  ]);

  async function stop(): Promise<void> {
    const graceMs = config.shutdownMs * GRACE_SHARE;
    const drained = http.drain({ graceMs, keepsIdle: config.drainMs > 0 });
    // Started first, because it renews the leases of the pushes it waits for, and the duties no longer do.
    const pushed = duties.drainPushes(graceMs);
    await runningDuties.stop();
    await Promise.all([drained, pushed]);
    await pusher.close();
    await store.close();
    observability.flush();
  }

  let stopping: Promise<void> | null = null;
  return {
    address,
    async drain() {
      http.announceEnd();
      await clock.sleep(config.drainMs);
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

function selectOverviewSettings(config: Config): OverviewSettings {
  const { consoleMode, isSecretPublic, isMetricsPublic } = config;
  return { storeKind: config.store.kind, consoleMode, isSecretPublic, isMetricsPublic };
}

function selectHttpSettings(
  config: Config,
  limits: Partial<HttpLimits>,
): Pick<HttpDeps, 'secrets' | 'limits' | 'settings'> {
  return {
    secrets: { gateway: config.gatewayAuth, admin: config.adminAuth },
    limits: {
      ...HTTP_LIMITS,
      connectionsMax: config.connectionsMax,
      streamsMax: countStreamsMax(config.connectionsMax),
      ...limits,
    },
    settings: {
      isAgentAuthRequired: config.isAgentAuthRequired,
      areStrangersServed: config.areStrangersServed,
      corsOrigins: config.corsOrigins,
      trustedProxies: config.trustedProxies,
      isSecretPublic: config.isSecretPublic,
      isMetricsPublic: config.isMetricsPublic,
      allowedHosts: config.allowedHosts,
      console: config.consoleMode,
    },
  };
}
