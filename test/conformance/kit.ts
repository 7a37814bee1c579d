/**
 * What every check works with: the subject, names that no earlier run has used, agents that are pushed to,
 * and the scenarios, each of which is played once and then looked at by many checks.
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
  /** Without it, what the administrator may is not scored. */
  readonly adminAuth?: string;
  /** An origin whose pages the gateway's operator allows; without it, what they get is not scored. */
  readonly origin?: string;
  /** The secrets that sign pushes, the newest first. Without any, signatures are not scored. */
  readonly pushSecrets?: readonly string[];
  /** Decides the values that are sent; the names have a random prefix beside it. */
  readonly seed: number;
  /** Where the agents of the kit listen, as the gateway reaches them: `127.0.0.1` by default. */
  readonly agentHost?: string;
  /** How long a response, an event or a change of state may take. */
  readonly limitMs?: number;
  readonly send?: Send;
  /** Stands between the gateway and the kit's agents in a test of the kit itself. */
  readonly plantInPushes?: (take: TakePush) => TakePush;
  /** The subject's time, in a test of the kit itself; the platform's by default. */
  readonly clock?: KitClock;
};

type KitClock = {
  /** Milliseconds from any moment. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
};

export type Agent = {
  readonly agent_id: string;
  readonly tag: string;
  /** What it registered with, the secret included. */
  readonly registration: Fields;
  readonly registered: Answer;
};

export type Kit = {
  readonly subject: Subject;
  /** What all names of this run begin with. */
  readonly prefix: string;
  readonly auth: string;
  readonly adminAuth: string | undefined;
  readonly origin: string | undefined;
  readonly pushSecrets: readonly string[];
  readonly limitMs: number;
  /** A new name, which ends in the given word. */
  name(word: string): string;
  /** A whole number from 0 and below `end`, of the seed. */
  random(end: number): number;
  /** Plays a scenario, or returns what came of it before. */
  see<T>(scenario: (kit: Kit) => Promise<T>): Promise<T>;
  /** Asks again until something is found; throws a finding that names it where that takes too long. */
  until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T>;
  /** The subject's time, in milliseconds from any moment. */
  nowMs(): number;
  /** Lets this much of the subject's time pass. */
  pause(seconds: number): Promise<void>;
  /**
   * Registers an agent with a tag of its own that responds to each push with a status, 202 by default, and
   * does nothing else.
   */
  startAgent(more?: Fields, respond?: number | Respond): Promise<Agent>;
  /** The pushes to an agent, oldest first. */
  pushesTo(agent: Pick<Agent, 'agent_id'>): readonly Push[];
  /** The URL of an agent that does not listen. */
  closedUrl(): string;
  /** How a match sees an agent by its tag; undefined where it sees none of this id. */
  look(agent: Pick<Agent, 'agent_id' | 'tag'>): Promise<Fields | undefined>;
  /** Sends a call of an agent with the secret, its `agent_id` and more. */
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
  /** Throws an error of the kit itself where it cannot listen. */
  start(): Promise<void>;
  /** Cancels the tasks of this run that are open, and unregisters its agents. */
  leave(): Promise<void>;
  close(): void;
};

const POLL_MS = 40;
const PLATFORM_CLOCK: KitClock = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Creates the kit for one run; `start` it before the first check. */
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

/** The administrator's secret. */
export function requireAdmin({ adminAuth }: Kit): string {
  if (adminAuth === undefined) throw new NotScored('The administrator’s secret was not given (ADMIN_AUTH).');
  return adminAuth;
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
