/**
 * A small agent that does all that is required of one, without a process of its own. The controls of the kit
 * plant their faults in it. It gets pushes, or claims its tasks.
 */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fields } from './findings.ts';
import { createSendCall, type PartyAnswer, type WireParts } from './party-wire.ts';
import type { StartedCommand, Starter } from './started-command.ts';
import { pause } from './trial-streams.ts';

type ArrivedPush = { readonly id: string; readonly headers: Fields; readonly text: string };

/** The parts of the agent that a fault may change. */
type AgentParts = WireParts & {
  /** Returns the status that a push gets. */
  readonly take: (push: ArrivedPush) => number;
  /** Whether a signature is correct. */
  readonly isSigned: (push: ArrivedPush) => boolean;
  /** The ids of the tasks that it has or had. */
  readonly known: Set<string>;
  /** The tasks that it has now, each with the timer that ends the work. */
  readonly running: Map<string, NodeJS.Timeout | undefined>;
};

/** Changes parts of an agent. Parts that it leaves out stay as they are. */
export type Plant = (parts: AgentParts) => Partial<AgentParts>;

const SLOTS = 2;
const PAUSE_MS = 40;
const OLD_SECONDS = 300;
const RESULT = { reply: '收到', output: 'done', more: [1] };

/** Starts the agent in this process, with a fault. `workMs` is how long it works on a task. */
export function startsScripted(plant: Plant, { isPull = false, workMs = 150 } = {}): Starter {
  return {
    isCommand: true,
    start: (environment) => startScripted(environment, plant, isPull, workMs),
  };
}

function startScripted(
  environment: Readonly<Record<string, string>>,
  plant: Plant,
  isPull: boolean,
  workMs: number,
): StartedCommand {
  const {
    TASK_GATEWAY_URL: url,
    TASK_GATEWAY_AUTH: auth,
    TASK_GATEWAY_PUSH_SECRET: secret = '',
  } = environment;
  const dying = new AbortController();
  const running = new Map<string, NodeJS.Timeout | undefined>();
  const known = new Set<string>();
  let token: unknown;
  let intervalMs = 1_000;
  let isDraining = false;

  const usual: AgentParts = {
    running,
    known,
    end,
    send: createSendCall(url, dying.signal),
    isSigned: ({ id, headers, text }) => {
      const seconds = String(headers['webhook-timestamp']);
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      const right = `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${text}`).digest('base64')}`;
      const isOld = Math.abs(Date.now() / 1_000 - Number(seconds)) > OLD_SECONDS;
      return !isOld && String(headers['webhook-signature']).split(' ').includes(right);
    },
    take(push) {
      if (!parts.isSigned(push)) return 401;
      if (known.has(push.id)) return 409;
      if (isDraining || running.size >= SLOTS) return 503;
      begin(push.id);
      return 202;
    },
  };
  const parts: AgentParts = { ...usual, ...plant(usual) };
  const agent_id = environment.TASK_GATEWAY_AGENT_ID;
  const send = (operation: string, body: Fields): Promise<PartyAnswer> =>
    parts.send({
      operation,
      method: 'POST',
      path: `/api/agent/${operation}`,
      headers: {},
      body: { auth, agent_id, ...body },
    });

  const server = createServer(async (request, response) => {
    const id = String(request.headers['webhook-id']);
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    response.writeHead(parts.take({ id, headers: request.headers, text })).end();
  });

  function end(): void {
    dying.abort();
    for (const timer of running.values()) clearTimeout(timer);
    server.closeAllConnections();
    server.close();
  }

  function begin(id: string): void {
    known.add(id);
    running.set(
      id,
      setTimeout(() => void deliver(id, { status: 'success', progress: 100, result: RESULT }), workMs),
    );
    void write(id);
  }

  /** Writes, asks, and waits for the answer, as long as it has the task. */
  async function write(id: string): Promise<void> {
    const call = async (operation: string, body: Fields, isOver: (answer: PartyAnswer) => boolean) => {
      while (running.has(id) && !dying.signal.aborted) {
        const answer = await send(operation, { request_id: id, ...body });
        if (isOver(answer)) return;
        await pause(PAUSE_MS);
      }
    };
    const hasResponse = ({ status }: PartyAnswer): boolean => status > 0;
    const question = { key: 'go', prompt: '继续吗？' };
    await call('output', { writer: id, from: 0, pieces: [{ text: '你好' }] }, hasResponse);
    await call('output', { writer: id, from: 1, pieces: [{ question }] }, hasResponse);
    await call('answer', { key: 'go', wait: 1 }, ({ status }) => status >= 200 && status !== 204);
  }

  function receive({ body }: PartyAnswer): void {
    for (const id of (body.cancelled_request_ids as string[] | undefined) ?? []) {
      clearTimeout(running.get(id));
      running.delete(id);
    }
  }

  async function register(): Promise<void> {
    while (!dying.signal.aborted) {
      const endpoint = isPull ? 'pull' : `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const usual = {
        endpoint,
        agent_tags: ['x'],
        max_concurrent: SLOTS,
        current_load: running.size,
      };
      const answer = await send('register', { ...usual, request_ids: [...running.keys()] });
      if (answer.status === 200) {
        token = answer.body.registration;
        intervalMs = Number(answer.body.heartbeat_interval) * 1_000;
        return receive(answer);
      }
      await pause(PAUSE_MS);
    }
  }

  async function heartbeat(): Promise<void> {
    const request_ids = [...running.keys()];
    const answer = await send('heartbeat', {
      request_ids,
      registration: token,
      draining: isDraining,
    });
    if (answer.status === 404) await register();
    else receive(answer);
  }

  async function deliver(id: string, report: Fields): Promise<void> {
    while (!dying.signal.aborted) {
      const { status, body, headers } = await send('result', { request_id: id, ...report });
      if (body.code === 'agent_not_found') await register();
      else if ((status === 413 || status === 422) && report.status === 'success')
        return deliver(id, { status: 'failed', progress: 50, result: null, error_info: 'refused' });
      else if (status >= 200 && status < 500) break;
      await pause(Math.max(PAUSE_MS, Number(headers.get('retry-after') ?? 0) * 1_000));
    }
    running.delete(id);
  }

  async function claim(): Promise<void> {
    while (!dying.signal.aborted && !isDraining) {
      if (running.size >= SLOTS) await pause(PAUSE_MS);
      else {
        const answer = await send('claim', { wait: 5, request_ids: [...running.keys()] });
        const id = answer.body.request_id;
        if (answer.status === 200 && !known.has(String(id))) begin(String(id));
        else if (answer.status === 404) await register();
        else if (answer.status !== 204) await pause(PAUSE_MS);
      }
    }
  }

  async function live(): Promise<void> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await register();
    if (isPull) void claim();
    while (!dying.signal.aborted) {
      await pause(intervalMs);
      if (!dying.signal.aborted) await heartbeat();
    }
  }

  async function drain(): Promise<void> {
    isDraining = true;
    await heartbeat();
    while (running.size > 0 && !dying.signal.aborted) await pause(PAUSE_MS);
    await send('unregister', { registration: token });
    end();
  }

  void live();
  return {
    isOver: () => dying.signal.aborted,
    printed: () => '',
    output: () => '',
    exitCode: () => (dying.signal.aborted ? 0 : null),
    signal: (name) => (name === 'SIGKILL' ? end() : void drain()),
  };
}
