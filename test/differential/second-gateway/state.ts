/** The tasks and agents of the second gateway, in memory: which agent gets a task, and how it ends. */
import { randomUUID } from 'node:crypto';
import type { components } from '@task-gateway/contract';

type Schemas = components['schemas'];
type Writable<T> = { -readonly [K in keyof T]: T[K] };
export type TaskInfo = Writable<Schemas['TaskInfo']>;
export type TaskRow = Schemas['TaskRow'];
export type ListedAgent = Schemas['Agent'];
type Registration = Schemas['AgentRegistration'];

/** A piece of output, without its number. */
export type Piece = Readonly<Record<string, unknown>>;

/** A question that waits for its answer, has it, or is withdrawn: its key is still that of its content. */
export type Question = {
  readonly isWithdrawn?: true;
  readonly content: Schemas['Question'];
  readonly askedMs: number;
  readonly answer?: { readonly value: unknown };
};

export type Task = {
  readonly info: TaskInfo;
  /** Its pieces, who writes them, and how many of them are that writer's. */
  readonly output: { writer: string; replaced: readonly string[]; next: number; readonly pieces: Piece[] };
  /** By their keys. */
  questions: ReadonlyMap<string, Question>;
  readonly queueMs: number | null;
  readonly former: Set<string>;
  readonly refusedMs: Map<string, number>;
  firstReply?: string;
  assignedMs: number;
  handedMs: number;
  isTaken: boolean;
  mayBeTaken: boolean;
  mayMove: boolean;
  attempts: number;
  endedMs: number;
  isReported: boolean;
  next?: NodeJS.Timeout;
};

export type Agent = {
  registration: Registration;
  readonly token: string;
  readonly registeredMs: number;
  readonly isReplaced: boolean;
  external: number;
  isDraining: boolean;
  isGone: boolean;
  beats: number[];
  contactMs: number;
  /** Since when its pushes fail; 0 while they do not. */
  failedMs: number;
  failures: number;
  isFailing: boolean;
  assigned: number;
  push: { last_status: number | null; last_error: string | null; last_ms: number | null };
};

/** The questions of a task whose agent, or writer, is another one now: no one waits for the others. */
export function withdrawOpen({ questions }: Task): Task['questions'] {
  return new Map(
    [...questions].map(([key, one]) => [key, one.answer ? one : { ...one, isWithdrawn: true as const }]),
  );
}

/** All tasks, agents and events. What waits for a change listens to all changes. */
export class State {
  readonly tasks = new Map<string, Task>();
  readonly agents = new Map<string, Agent>();
  readonly feeds = new Map<string, { id: string; data: string }[]>();
  readonly listeners = new Set<() => void>();
  readonly #sweeping = setInterval(() => this.#sweep(), 100);
  #count = 0;

  isOver({ info }: Task): boolean {
    return info.status === 'success' || info.status === 'failed';
  }

  /** Adds a task; it gets an agent, or fails, after the response. */
  add(info: TaskInfo, queueMs: number | null): void {
    const task: Task = {
      info,
      output: { writer: '', replaced: [], next: 0, pieces: [] },
      questions: new Map(),
      queueMs,
      former: new Set(),
      refusedMs: new Map(),
      assignedMs: 0,
      handedMs: 0,
      isTaken: false,
      mayBeTaken: false,
      mayMove: false,
      attempts: 0,
      endedMs: 0,
      isReported: false,
    };
    this.tasks.set(info.request_id, task);
    setImmediate(() => {
      this.dispatch();
      if (info.status === 'pending' && queueMs === null) this.fail(task, '无可用 Agent');
    });
  }

  stop(): void {
    clearInterval(this.#sweeping);
  }

  tasksOf(agent_id: string): Task[] {
    return [...this.tasks.values()].filter(
      (one) => one.info.status === 'running' && one.info.agent_id === agent_id,
    );
  }

  loadOf(id: string): number {
    return (this.agents.get(id)?.external ?? 0) + this.tasksOf(id).length;
  }

  isFull(id: string): boolean {
    return this.loadOf(id) >= (this.agents.get(id)?.registration.max_concurrent ?? 1);
  }

  stateOf(id: string): Schemas['AgentState'] {
    const agent = this.agents.get(id);
    if (!agent || this.#isOffline(agent)) return 'offline';
    if (agent.isDraining) return 'draining';
    return this.tasksOf(id).length > 0 ? 'processing' : 'ready';
  }

  #isOffline(agent: Agent): boolean {
    return agent.isGone || Date.now() > this.offlineMs(agent);
  }

  /** When it is offline if it stays silent; `Infinity` if it never will be. */
  offlineMs({ registration, beats, contactMs, failedMs }: Agent): number {
    const [before = 0, last = 0] = beats.slice(-2);
    const gapMs = beats.length > 1 ? last - before : 0;
    const lostMs = contactMs + (registration.lost_after ?? Infinity) * 1_000;
    if (beats.length > 0 || registration.endpoint === 'pull')
      return Math.min(lostMs, contactMs + (gapMs > 45_000 ? 3 * gapMs : 90_000));
    return failedMs === 0 ? lostMs : Math.min(lostMs, Math.max(contactMs, failedMs) + 90_000);
  }

  isEligible(id: string): boolean {
    return ['ready', 'processing'].includes(this.stateOf(id)) && !this.isFull(id);
  }

  /** The agent that gets a task; the present one of a task that is to move does not count. */
  findAgent({ info, refusedMs }: Task): string | undefined {
    const shared = (id: string): number =>
      this.agents.get(id)?.registration.agent_tags.filter((tag) => info.task_tags.includes(tag)).length ?? 0;
    const rank = (id: string): number[] => {
      const agent = this.agents.get(id);
      const ratio = this.loadOf(id) / (agent?.registration.max_concurrent ?? 1);
      return [agent?.isFailing ? 1 : 0, -shared(id), ratio, agent?.assigned ?? 0];
    };
    const found = [...this.agents.keys()].filter(
      (id) =>
        id !== info.agent_id &&
        this.isEligible(id) &&
        shared(id) > 0 &&
        Date.now() - (refusedMs.get(id) ?? 0) > 30_000,
    );
    return found.toSorted((a, b) => {
      const [ours, theirs] = [rank(a), rank(b)];
      const index = ours.findIndex((value, at) => value !== theirs[at]);
      return index < 0 ? (a < b ? -1 : 1) : (ours[index] ?? 0) - (theirs[index] ?? 0);
    })[0];
  }

  assign(task: Task, agent_id: string): void {
    const agent = this.agents.get(agent_id);
    if (!agent) return;
    clearTimeout(task.next);
    if (task.info.agent_id !== null) task.former.add(task.info.agent_id);
    Object.assign(task.info, { status: 'running', agent_id });
    const now = Date.now();
    Object.assign(task, {
      assignedMs: now,
      handedMs: 0,
      isTaken: false,
      mayBeTaken: false,
      mayMove: false,
      attempts: 0,
    });
    task.questions = withdrawOpen(task);
    agent.assigned = ++this.#count;
    if (agent.registration.endpoint !== 'pull') void this.push(task, agent_id);
    this.wake();
  }

  async push(task: Task, agent_id: string): Promise<void> {
    const { info } = task;
    const agent = this.agents.get(agent_id);
    if (!agent || this.isOver(task) || info.agent_id !== agent_id || task.isTaken || agent.isGone) return;
    const remaining = info.create_time + info.timeout - Date.now() / 1_000;
    const sentMs = Date.now();
    const response = await fetch(agent.registration.endpoint, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'webhook-id': info.request_id,
        'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
        'task-remaining': String(remaining),
        traceparent: `00-${randomUUID().replaceAll('-', '')}-${randomUUID().replaceAll('-', '').slice(16)}-01`,
      },
      body: JSON.stringify(info),
    }).catch((error: unknown) => error);
    if (this.isOver(task) || info.agent_id !== agent_id) return;
    const status = response instanceof Response ? response.status : 0;
    const refused =
      !(response instanceof Response) &&
      /ECONNREFUSED|ENOTFOUND/.test(String((response as Error & { cause?: { code?: string } }).cause?.code));
    agent.push = {
      last_status: status || null,
      last_error: status >= 200 && status < 300 ? null : 'failed',
      last_ms: Date.now() - sentMs,
    };
    const pause = 1_000 * Math.min(30, 2 ** task.attempts++);
    const after =
      response instanceof Response
        ? Math.min(300, Number(response.headers.get('retry-after')) || 0) * 1_000
        : 0;
    const isBusy = status === 429 || status === 503;
    if ((status >= 200 && status < 300) || status === 409 || isBusy) agent.contactMs = Date.now();
    agent.isFailing = !((status >= 200 && status < 300) || status === 409);
    const hasFailed = agent.isFailing && !isBusy;
    Object.assign(agent, hasFailed ? {} : { failedMs: 0, failures: 0 });
    if (hasFailed && agent.failures++ === 0) agent.failedMs = Date.now();
    if (!agent.isFailing) task.isTaken = true;
    else if (isBusy) {
      task.refusedMs.set(agent_id, Date.now());
      task.mayMove = !task.mayBeTaken;
    } else if (status === 410) {
      agent.isGone = true;
      task.mayMove = !task.mayBeTaken;
    } else if (refused || (status >= 300 && status < 500 && status !== 408)) {
      task.mayMove = !task.mayBeTaken && task.attempts >= 3 && Date.now() - task.assignedMs >= 10_000;
    } else task.mayBeTaken = true;
    if (task.mayMove) this.dispatch();
    if (task.isTaken || info.agent_id !== agent_id || this.isOver(task)) return;
    task.next = setTimeout(
      () => void this.push(task, agent_id),
      Math.max(pause * (0.75 + Math.random() / 2), after),
    );
  }

  end(task: Task, change: Partial<TaskInfo>, isReported = false): void {
    Object.assign(task.info, change);
    Object.assign(task, { endedMs: Date.now(), isReported });
    clearTimeout(task.next);
    const { request_id, status, result, error_info, cli_session_id } = task.info;
    if (cli_session_id !== '') {
      const feed = this.feeds.get(cli_session_id) ?? [];
      const data = JSON.stringify({ event: 'task_done', request_id, status, result, error_info });
      this.feeds.set(cli_session_id, [...feed, { id: `${Date.now()}-${++this.#count}`, data }]);
    }
    this.dispatch();
    this.wake();
  }

  fail(task: Task, error_info: string): void {
    this.end(task, { status: 'failed', error_info });
  }

  wake(): void {
    for (const listener of [...this.listeners]) listener();
  }

  /** Offers what waits to agents with room, the oldest first. */
  dispatch(): void {
    for (const task of this.tasks.values()) {
      if (this.isOver(task) || (task.info.status === 'running' && !task.mayMove)) continue;
      const agent_id = this.findAgent(task);
      if (agent_id !== undefined) this.assign(task, agent_id);
    }
  }

  #sweep(): void {
    const now = Date.now();
    for (const task of this.tasks.values()) {
      if (this.isOver(task)) continue;
      const { info } = task;
      const ageMs = now - info.create_time * 1_000;
      const agent = this.agents.get(info.agent_id ?? '');
      const silentMs = now - Math.max(agent?.contactMs ?? now, task.assignedMs);
      if (ageMs >= info.timeout * 1_000) this.fail(task, 'timeout');
      else if (info.status === 'pending' && ageMs >= (task.queueMs ?? 0)) this.fail(task, '无可用 Agent');
      else if (info.status === 'running' && silentMs > (agent?.registration.lost_after ?? Infinity) * 1_000) {
        this.fail(
          task,
          `agent lost: no contact for ${Math.floor((now - (agent?.contactMs ?? now)) / 1_000)} s`,
        );
      } else if (
        agent?.registration.endpoint === 'pull' &&
        task.handedMs === 0 &&
        !task.isTaken &&
        now - task.assignedMs >= 10_000
      ) {
        task.mayMove = true;
      }
    }
    this.dispatch();
  }
}
