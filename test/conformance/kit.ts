/**
 * What every check works with: the subject, names that no earlier run has used, agents that receive pushes,
 * and scenarios. A scenario is played once, and many checks look at it.
 */
import { randomBytes } from 'node:crypto';
import { currentExchanges, type Exchanges, keepExchanges } from './exchanges.ts';
import { type Fields, Finding, isFields, NotScored, requireThat } from './findings.ts';
import { createPushedAgents, type Push, type Respond, type TakePush } from './pushed-agents.ts';
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
  /** Without it the kit does not score what the administrator may do. */
  readonly adminAuth?: string;
  /** An origin whose pages the gateway's operator allows. Without it the kit does not score what they get. */
  readonly origin?: string;
  /** The secrets that sign pushes, the newest first. Without any, the kit does not score signatures. */
  readonly pushSecrets?: readonly string[];
  /** Decides the values that are sent. Names also have a random prefix. */
  readonly seed: number;
  /** Under which host the gateway reaches the kit's agents; by default `127.0.0.1`. */
  readonly agentHost?: string;
  /** How long a response, an event or a change of state may take. */
  readonly limitMs?: number;
  readonly send?: Send;
  /** In a test of the kit itself, stands between the gateway and the kit's agents. */
  readonly plantInPushes?: (take: TakePush) => TakePush;
  /** In a test of the kit itself, the subject's time; by default the platform's. */
  readonly clock?: KitClock;
};

type KitClock = {
  /** Returns the milliseconds since any fixed moment. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
};

export type Agent = {
  readonly agent_id: string;
  readonly tag: string;
  /** What it registered with, and the secret. */
  readonly registration: Fields;
  readonly registered: Answer;
};

export type Kit = {
  readonly subject: Subject;
  /** Every name of this run begins with it. */
  readonly prefix: string;
  readonly auth: string;
  readonly adminAuth: string | undefined;
  readonly origin: string | undefined;
  readonly pushSecrets: readonly string[];
  readonly limitMs: number;
  /** Returns a new name, which ends in the given word. */
  name(word: string): string;
  /** Returns a whole number from 0 and below `end`, by the seed. */
  random(end: number): number;
  /** Plays a scenario, or returns what it saw when it was played before. */
  see<T>(scenario: (kit: Kit) => Promise<T>): Promise<T>;
  /** Asks again until something is found. If that takes too long, throws a finding that names it. */
  until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T>;
  /** Returns the subject's time, in milliseconds since any fixed moment. */
  nowMs(): number;
  /** Lets so much of the subject's time pass. */
  pause(seconds: number): Promise<void>;
  /**
   * Registers an agent with a tag of its own. It responds to each push with a status, 202 by default, and
   * does nothing else.
   */
  startAgent(more?: Fields, respond?: number | Respond): Promise<Agent>;
  /** Returns the pushes to an agent, oldest first. */
  pushesTo(agent: Pick<Agent, 'agent_id'>): readonly Push[];
  /** Returns the URL of an agent that does not listen. */
  closedUrl(): string;
  /** Returns how a match shows an agent, by its tag; undefined if it shows none with this id. */
  look(agent: Pick<Agent, 'agent_id' | 'tag'>): Promise<Fields | undefined>;
  /** Sends a call of an agent, with the secret, its `agent_id` and further fields. */
  callAs(agent: Pick<Agent, 'agent_id'>, path: string, more?: Fields): Promise<Answer>;
  /** Submits a task; returns the response, whatever it is. */
  submit(tags: readonly string[], more?: Fields, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Reads a task. */
  get(request_id: unknown): Promise<Fields>;
  /** Reads what happened to a task. */
  explain(request_id: unknown): Promise<Fields>;
  cancel(request_id: unknown): Promise<Answer>;
  report(agent: Agent, request_id: unknown, more: Fields): Promise<Answer>;
  openStream(session: string): Promise<EventStream>;
  /** Starts to listen. Throws an error of the kit itself if it cannot. */
  start(): Promise<void>;
  /** Cancels the open tasks of this run, and unregisters its agents. */
  leave(): Promise<void>;
  close(): void;
};

const POLL_MS = 40;
const PLATFORM_CLOCK: KitClock = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Creates the kit for one run. Call `start` before the first check. */
export function createKit(options: KitOptions): Kit {
  const { auth, adminAuth, pushSecrets = [], origin, seed } = options;
  const { agentHost = '127.0.0.1', limitMs = 10_000, clock = PLATFORM_CLOCK } = options;
  const { plantInPushes = (take) => take } = options;
  const send: Send = options.send ?? ((url, init) => fetch(url, { ...init, redirect: 'manual' }));
  const subject = createSubject(options.gatewayUrl, send, limitMs);
  const prefix = `kit-${randomBytes(4).toString('hex')}`;
  const random = createRandom(seed);
  const played = new Map<unknown, { readonly exchanges: Exchanges; readonly result: Promise<unknown> }>();
  const { nowMs, sleep } = clock;
  const agents = createPushedAgents(agentHost, nowMs, plantInPushes);
  const open = new Set<unknown>();
  let names = 0;

  const kit: Kit = {
    subject,
    prefix,
    auth,
    adminAuth,
    origin,
    pushSecrets,
    limitMs,
    nowMs,
    name: (word) => `${prefix}-${++names}-${word}`,
    random: (end) => Math.floor(random() * end),
    see<T>(scenario: (kit: Kit) => Promise<T>): Promise<T> {
      const known = played.get(scenario);
      if (known) {
        currentExchanges()?.seen.add(known.exchanges);
        return known.result as Promise<T>;
      }
      const exchanges: Exchanges = { own: [], seen: new Set() };
      const result = keepExchanges(() => scenario(kit), exchanges);
      played.set(scenario, { exchanges, result });
      return result;
    },
    async until(what, find) {
      const endMs = nowMs() + limitMs;
      for (;;) {
        const found = await find();
        if (found !== undefined) return found;
        if (nowMs() > endMs)
          throw new Finding(`Not within ${limitMs / 1_000} s: ${what}.`, { cause: 'wait' });
        await sleep(POLL_MS);
      }
    },
    pause: (seconds) => sleep(seconds * 1_000),
    async startAgent(more = {}, respond = 202) {
      const agent_id = String(more.agent_id ?? kit.name('agent'));
      const tag = kit.name('tag');
      const endpoint = agents.add(agent_id, typeof respond === 'number' ? () => respond : respond);
      const usual = { auth, agent_id, endpoint, agent_tags: [tag], max_concurrent: 10, current_load: 0 };
      const registration: Fields = { ...usual, ...more };
      const registered = await subject.call('POST', '/api/agent/register', { json: registration });
      return { agent_id, tag, registration, registered };
    },
    pushesTo: ({ agent_id }) => agents.pushesTo(agent_id),
    closedUrl: agents.closedUrl,
    async look({ agent_id, tag }) {
      const json = { auth, task_tags: [tag] };
      const { match } = requireObject(await subject.call('POST', '/api/cli/match', { json }));
      const seen: unknown = isFields(match) ? match.agents : undefined;
      return Array.isArray(seen) ? seen.filter(isFields).find((one) => one.agent_id === agent_id) : undefined;
    },
    callAs: ({ agent_id }, path, more = {}) =>
      subject.call('POST', `/api/agent/${path}`, { json: { auth, agent_id, ...more } }),
    async submit(tags, more = {}, headers = {}) {
      const usual = {
        auth,
        task_type: kit.name('type'),
        task_tags: tags,
        cli_session_id: kit.name('session'),
      };
      const json = { ...usual, payload: { text: '你好' }, timeout: 120, ...more };
      const answer = await subject.call('POST', '/api/cli/tasks', { json, headers });
      if (isFields(answer.json)) open.add(answer.json.request_id);
      return answer;
    },
    async get(request_id) {
      const answer = await subject.call('GET', `/api/cli/tasks/${request_id}`, { query: { auth } });
      const task = requireObject(answer);
      if (task.status === 'success' || task.status === 'failed') open.delete(request_id);
      return task;
    },
    async explain(request_id) {
      const path = `/api/cli/tasks/${request_id}/explain`;
      return requireObject(await subject.call('GET', path, { query: { auth } }));
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
      const { status } = stream;
      requireThat(status >= 200 && status < 300, `GET /api/cli/events: ${status}; must be a 2xx.`);
      return stream;
    },
    start: agents.listen,
    async leave() {
      await Promise.all([...open].map((request_id) => kit.cancel(request_id).catch(() => {})));
      for (const agent_id of agents.ids()) await kit.callAs({ agent_id }, 'unregister').catch(() => {});
    },
    close() {
      subject.close();
      agents.close();
    },
  };
  return kit;
}

/** Returns the administrator's secret; throws `NotScored` without one. */
export function requireAdmin({ adminAuth }: Kit): string {
  if (adminAuth === undefined) throw new NotScored('The administrator’s secret was not given (ADMIN_AUTH).');
  return adminAuth;
}

/** Creates a source of numbers from 0 and below 1; the same seed gives the same numbers (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
