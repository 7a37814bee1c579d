/** The real server that the contract is tried on, beside the mock that knows the document alone. */
import { composeGateway } from '../../server/compose.ts';
import { readConfig } from '../../server/config/config.ts';
import type { Gateway } from '../../server/ports/gateway.ts';
import type { Log } from '../../server/ports/log.ts';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { ADMIN_SECRET, realClock, SECRET, startTestServer } from '../harness/http-server.ts';
import { openPlainStore } from '../harness/stores.ts';
import { buildSubmission, createWorld } from '../harness/world.ts';
import type { ReceivedResponse } from './document-check.ts';
import { buildCall, type Call, type OperationId, type Secrets, send } from './usual-calls.ts';

/** The real server, two more whose store doesn't work, and one for its own machine alone. */
export type RealServer = {
  readonly url: string;
  readonly secrets: Secrets;
  /** A server whose store does not reply. */
  readonly outOfOrder: string;
  /** A server whose store fails with an unexpected error. */
  readonly faulty: string;
  /** A server that serves its own machine alone, as one with the default secret does. */
  readonly local: string;
  /** The same server by an address that leads to it and is not one of its names. */
  readonly misnamed: string;
  /** A server with too much to do: every commit is a conflict. */
  readonly busy: string;
  /** A task of it that waits. */
  readonly waitingId: string;
  /** A server that gives no time to bodies that arrive in parts. */
  readonly timeLimited: string;
  /** A server whose console may change nothing. */
  readonly readOnly: string;
  /** A name that was not used before. */
  fresh(kind: string): string;
  /** The usual request of an operation, with other fields in its body. */
  build(operationId: OperationId, body?: Readonly<Record<string, unknown>>, id?: string): Call;
  /** Sends such a request, to bring the server into the state of a row; throws unless it succeeds. */
  arrange(
    operationId: OperationId,
    body?: Readonly<Record<string, unknown>>,
    id?: string,
  ): Promise<ReceivedResponse>;
  /** Opens a stream that stays open until the server stops. */
  holdStream(call: Call): Promise<void>;
  stop(): Promise<void>;
};

const RETRY_PAUSE_MAX_MS = 70;

const secrets: Secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Starts the real gateway, with a store in memory, in this process. */
export async function openRealServer(): Promise<RealServer> {
  const parsed = readConfig({
    PORT: '0',
    STORE: 'memory:',
    GATEWAY_AUTH: secrets.gateway,
    ADMIN_AUTH: secrets.admin,
  });
  if (!parsed.ok) throw new Error(parsed.mistakes.join('\n'));
  const running = await composeGateway(parsed.config, silent, { streamsOfOneMax: 1 });
  const unavailable = await startTestServer(
    createWorld(createBrokenStore(new StoreUnavailable('planned outage'), false), {
      clock: createFakeClock(),
    }).gateway,
  );
  const faulty = await startTestServer(
    createWorld(createBrokenStore(new Error('planned fault'), true), { clock: createFakeClock() }).gateway,
  );
  const local = await startTestServer(
    createWorld(createBrokenStore(new Error('planned fault'), true), { clock: createFakeClock() }).gateway,
    { settings: { isSecretPublic: true } },
  );
  const busy = await createBusyGateway();
  const busyServer = await startTestServer(busy.gateway, {
    limits: { bodiesBytesMax: 1, outputWritingBytesMax: 1 },
  });
  const timeLimited = await startTestServer(busy.gateway, { limits: { requestMs: 50 } });
  const readOnly = await startTestServer(
    createWorld(createBrokenStore(new Error('planned fault'), true), {
      clock: createFakeClock(),
      consoleMode: 'read-only',
    }).gateway,
  );
  const url = `http://127.0.0.1:${running.address.port}`;
  const openStreams = new AbortController();
  let names = 0;

  const build: RealServer['build'] = (operationId, body, id) => buildCall(operationId, secrets, body, id);
  return {
    url,
    secrets,
    outOfOrder: unavailable.url,
    faulty: faulty.url,
    local: local.url,
    misnamed: local.url.replace('127.0.0.1', '0.0.0.0'),
    busy: busyServer.url,
    waitingId: busy.waitingId,
    timeLimited: timeLimited.url,
    readOnly: readOnly.url,
    fresh(kind) {
      names += 1;
      return `${kind}-${names}`;
    },
    build,
    async arrange(operationId, body, id) {
      const arranged = await send(url, build(operationId, body, id));
      if (arranged.status !== 200) throw new Error(`${operationId} ${arranged.status}: ${arranged.text}`);
      return arranged;
    },
    async holdStream({ path, headers }) {
      const response = await fetch(url + path, { signal: openStreams.signal, ...(headers && { headers }) });
      if (response.status !== 200) throw new Error(`The stream was refused: ${response.status}.`);
    },
    async stop() {
      openStreams.abort();
      const servers = [running, unavailable, faulty, local, busyServer, timeLimited, readOnly];
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** A gateway with a task that waits, whose commits are conflicts. */
async function createBusyGateway(): Promise<{ gateway: Gateway; waitingId: string }> {
  let isBusy = false;
  const clock = {
    ...createFakeClock(),
    // The pauses between tries end at once, before anything looks at the clock.
    sleep: (ms: number, signal?: AbortSignal) =>
      ms < RETRY_PAUSE_MAX_MS ? Promise.resolve() : realClock.sleep(ms, signal),
  };
  const store = openPlainStore(clock);
  const busy: Store = {
    ...store,
    commit: async (batch) => (isBusy ? { ok: false, conflict: 'revision' } : await store.commit(batch)),
  };
  const { gateway } = createWorld(busy, { clock });
  const task = await gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
  isBusy = true;
  return { gateway, waitingId: task.request_id };
}

/** A store whose every call fails. */
function createBrokenStore(error: Error, isHealthy: boolean): Store {
  const fail = async (): Promise<never> => {
    throw error;
  };
  const failStream = async function* (): AsyncGenerator<never> {
    yield await fail();
  };
  return {
    nowMs: () => 1_700_000_000_000,
    get: fail,
    getForCommit: fail,
    getAgentStatus: fail,
    readAgentChanges: fail,
    list: fail,
    listClaimable: fail,
    readCounts: fail,
    readActivity: fail,
    readEnded: fail,
    findSlots: fail,
    commit: fail,
    appendOutput: fail,
    readOutput: fail,
    takeDue: fail,
    renewLeases: fail,
    touch: fail,
    feed: failStream,
    watch: failStream,
    trim: fail,
    health: () => (isHealthy ? { ok: true } : { ok: false, outage: new StoreUnavailable(error.message) }),
    close: async () => {},
  };
}
