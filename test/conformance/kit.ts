/**
 * What every check works with: the subject, names that no earlier run has used, agents that are pushed to,
 * and the scenarios, each of which is played once and then looked at by many checks.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Fields, Finding, requireThat } from './findings.ts';
import {
  type Answer,
  createSubject,
  type EventStream,
  requireObject,
  type Send,
  type Subject,
} from './subject.ts';

export type KitOptions = {
  readonly gatewayUrl: string;
  readonly auth: string;
  /** Without it, what the administrator may is not scored. */
  readonly adminAuth?: string;
  /** Decides the values that are sent; the names have a random prefix beside it. */
  readonly seed: number;
  /** Where the agents of the kit listen, as the gateway reaches them: `127.0.0.1` by default. */
  readonly agentHost?: string;
  /** How long a response, an event or a change of state may take. */
  readonly limitMs?: number;
  readonly send?: Send;
};

export type Agent = { readonly agent_id: string; readonly tag: string; readonly registered: Answer };

export type Kit = {
  readonly subject: Subject;
  /** What all names of this run begin with. */
  readonly prefix: string;
  readonly auth: string;
  readonly adminAuth: string | undefined;
  readonly limitMs: number;
  /** A new name, which ends in the given word. */
  name(word: string): string;
  /** A whole number from 0 and below `end`, of the seed. */
  random(end: number): number;
  /** Plays a scenario, or returns what came of it before. */
  see<T>(scenario: (kit: Kit) => Promise<T>): Promise<T>;
  /** Asks again until something is found; throws a finding that names it where that takes too long. */
  until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T>;
  /**
   * Registers an agent with a tag of its own that responds to each push with a status, 202 by default, and
   * does nothing else.
   */
  startAgent(more?: Fields, pushStatus?: number): Promise<Agent>;
  /** The bodies that were pushed to an agent. */
  pushesTo(agent: Agent): readonly string[];
  /** Sends a call of an agent with the secret, its `agent_id` and more. */
  callAs(agent: Pick<Agent, 'agent_id'>, path: string, more?: Fields): Promise<Answer>;
  /** Submits a task; returns the response, whatever it is. */
  submit(tags: readonly string[], more?: Fields): Promise<Answer>;
  /** Reads a task. */
  get(request_id: unknown): Promise<Fields>;
  cancel(request_id: unknown): Promise<Answer>;
  report(agent: Agent, request_id: unknown, more: Fields): Promise<Answer>;
  openStream(session: string): Promise<EventStream>;
  /** Throws an error of the kit itself where it cannot listen. */
  start(): Promise<void>;
  /** Unregisters the agents of this run. */
  leave(): Promise<void>;
  close(): void;
};

const POLL_MS = 40;

/** Creates the kit for one run; `start` it before the first check. */
export function createKit(options: KitOptions): Kit {
  const { auth, adminAuth, agentHost = '127.0.0.1', limitMs = 10_000, seed } = options;
  const send: Send = options.send ?? ((url, init) => fetch(url, { ...init, redirect: 'manual' }));
  const subject = createSubject(options.gatewayUrl, send, limitMs);
  const prefix = `kit-${randomBytes(4).toString('hex')}`;
  const random = createRandom(seed);
  const played = new Map<unknown, Promise<unknown>>();
  const pushes = new Map<string, string[]>();
  const statuses = new Map<string, number>();
  const agents = createServer(async (request, response) => {
    const path = request.url ?? '';
    let body = '';
    for await (const text of request.setEncoding('utf8')) body += text;
    pushes.set(path, [...(pushes.get(path) ?? []), body]);
    response.writeHead(statuses.get(path) ?? 202).end();
  });
  let names = 0;

  const kit: Kit = {
    subject,
    prefix,
    auth,
    adminAuth,
    limitMs,
    name: (word) => `${prefix}-${++names}-${word}`,
    random: (end) => Math.floor(random() * end),
    see<T>(scenario: (kit: Kit) => Promise<T>): Promise<T> {
      const known = played.get(scenario) ?? scenario(kit);
      played.set(scenario, known);
      return known as Promise<T>;
    },
    async until(what, find) {
      const endMs = performance.now() + limitMs;
      for (;;) {
        const found = await find();
        if (found !== undefined) return found;
        if (performance.now() > endMs) throw new Finding(`Not within ${limitMs / 1_000} s: ${what}.`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async startAgent(more = {}, pushStatus = 202) {
      const agent_id = kit.name('agent');
      const tag = kit.name('tag');
      const endpoint = `http://${agentHost}:${(agents.address() as AddressInfo).port}/${agent_id}`;
      statuses.set(`/${agent_id}`, pushStatus);
      const usual = { auth, agent_id, endpoint, agent_tags: [tag], max_concurrent: 10, current_load: 0 };
      const registered = await subject.call('POST', '/api/agent/register', { json: { ...usual, ...more } });
      return { agent_id, tag, registered };
    },
    pushesTo: ({ agent_id }) => pushes.get(`/${agent_id}`) ?? [],
    callAs: ({ agent_id }, path, more = {}) =>
      subject.call('POST', `/api/agent/${path}`, { json: { auth, agent_id, ...more } }),
    submit(tags, more = {}) {
      const usual = {
        auth,
        task_type: kit.name('type'),
        task_tags: tags,
        cli_session_id: kit.name('session'),
      };
      const json = { ...usual, payload: { text: '你好' }, timeout: 120, ...more };
      return subject.call('POST', '/api/cli/tasks', { json });
    },
    async get(request_id) {
      return requireObject(await subject.call('GET', `/api/cli/tasks/${request_id}`, { query: { auth } }));
    },
    cancel: (request_id) => subject.call('POST', `/api/cli/tasks/${request_id}/cancel`, { query: { auth } }),
    report({ agent_id }, request_id, more) {
      const usual = {
        agent_id,
        request_id,
        status: 'success',
        progress: 100,
        result: null,
        error_info: null,
      };
      return subject.call('POST', '/api/agent/result', { json: { ...usual, ...more } });
    },
    async openStream(session) {
      const stream = await subject.openStream({ cli_session_id: session, auth });
      requireThat(stream.status === 200, `GET /api/cli/events: ${stream.status}; must be 200.`);
      return stream;
    },
    start: () => listen(agents, agentHost),
    async leave() {
      for (const path of statuses.keys())
        await kit.callAs({ agent_id: path.slice(1) }, 'unregister').catch(() => {});
    },
    close() {
      subject.close();
      agents.closeAllConnections();
      agents.close();
    },
  };
  return kit;
}

async function listen(server: Server, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, () => resolve());
  });
}

/** The same seed gives the same numbers, from 0 and below 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
