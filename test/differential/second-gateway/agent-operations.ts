/** What the operations of agents do in the second gateway once their request is right. */
import { randomUUID } from 'node:crypto';
import { type Call, Refusal, type Reply, requireTask, seconds, waitFor, waitMs } from './request.ts';
import { type Agent, type ListedAgent, type State, type Task, withdrawOpen } from './state.ts';

function requireAgent({ state, body }: Call): Agent {
  const agent = state.agents.get(String(body.agent_id));
  if (!agent) throw new Refusal('agent_not_found');
  agent.contactMs = Date.now();
  return agent;
}

/** Takes what an agent says of its tasks, and returns those it may stop working on. */
function acknowledge(call: Call, agent_id: string, isRegistering = false): readonly string[] {
  const { state, body, isTrusted } = call;
  const named = isTrusted ? (body.request_ids as readonly string[] | undefined) : undefined;
  if (named === undefined) {
    const ended = [...state.tasks.values()].filter(
      (one) =>
        state.isOver(one) &&
        !one.isReported &&
        one.info.agent_id === agent_id &&
        Date.now() - one.endedMs < 600_000,
    );
    return ended.toSorted((a, b) => b.endedMs - a.endedMs).map(({ info }) => info.request_id);
  }
  for (const task of state.tasksOf(agent_id)) {
    const isNamed = named.includes(task.info.request_id);
    if (isRegistering && task.isTaken && !isNamed) {
      const questions = withdrawOpen(task);
      Object.assign(task, { isTaken: false, mayBeTaken: false, handedMs: 0, questions });
      state.wake();
      void state.push(task, agent_id);
    } else if (isNamed) task.isTaken = true;
  }
  const isTheirs = (id: string): boolean =>
    state.tasksOf(agent_id).some(({ info }) => info.request_id === id);
  return [...new Set(named)].filter((id) => !isTheirs(id));
}

/** The load that no task of the gateway explains. */
function readExternal({ state, body }: Call, agent_id: string, load: unknown): number {
  const explained =
    (body.request_ids as readonly string[] | undefined)?.length ?? state.tasksOf(agent_id).length;
  return Math.max(0, Number(load) - explained);
}

function reportResult(call: Call): Reply {
  const { state, body } = call;
  const { request_id, agent_id, status, progress, result, error_info } = body as {
    request_id: string;
    agent_id: string;
    status: 'running' | 'success' | 'failed';
    progress?: number;
    result?: Record<string, unknown> | null;
    error_info?: string | null;
  };
  const task = requireTask({ state, id: request_id });
  const { info, former } = task;
  const isPresent = info.agent_id === agent_id;
  if (!isPresent && !(former.has(agent_id) && (status !== 'running' || state.isOver(task)))) {
    throw new Refusal(state.agents.has(agent_id) ? 'agent_mismatch' : 'agent_not_found');
  }
  const agent = state.agents.get(agent_id);
  if (agent) agent.contactMs = Date.now();
  if (state.isOver(task)) return { ok: true, request_id, status: info.status, accepted: false };
  if (isPresent) task.isTaken = true;
  if (isPresent && status !== 'success') info.progress = Math.max(info.progress, progress ?? 0);
  if (status === 'running' && typeof result?.reply === 'string') task.firstReply ??= result.reply;
  if (status === 'failed')
    state.end(task, { status, agent_id, error_info: error_info || 'agent reported failure' }, true);
  if (status === 'success') {
    const reply =
      result?.reply === undefined && task.firstReply !== undefined ? { reply: task.firstReply } : {};
    state.end(task, { status, agent_id, progress: 100, result: { ...result, ...reply } }, true);
  }
  return { ok: true, request_id, status: info.status, accepted: true };
}

async function claimTask(call: Call): Promise<Reply> {
  const { state, body, res } = call;
  const agent = requireAgent(call);
  if (agent.registration.endpoint !== 'pull')
    throw new Refusal('validation_failed', { pointers: ['/agent_id'] });
  const id = String(body.agent_id);
  acknowledge(call, id);
  const find = (): Task | undefined =>
    state
      .tasksOf(id)
      .filter((one) => !one.isTaken && Date.now() - one.handedMs > 15_000)
      .toSorted((a, b) => a.assignedMs - b.assignedMs)[0];
  let isOpen = true;
  res.once('close', () => (isOpen = false));
  await waitFor(state, waitMs(body.wait), () => find() !== undefined);
  const task = isOpen ? find() : undefined;
  if (!task) return null;
  Object.assign(task, { handedMs: Date.now(), mayBeTaken: true, mayMove: false });
  return task.info;
}

function listAgents({ state, query }: Call): Reply {
  const all = [...state.agents.keys()].toSorted().map((agent_id) => toListedAgent(state, agent_id));
  const isTaking = (one: ListedAgent): boolean => one.state !== 'draining' && one.state !== 'offline';
  const isAsked = (one: ListedAgent): boolean =>
    (!query.has('state') || query.get('state') === one.state) &&
    (!query.has('tag') || one.agent_tags.includes(query.get('tag') ?? '')) &&
    (!query.has('full') || query.get('full') === String(one.full && isTaking(one))) &&
    (!query.has('failing') || query.get('failing') === String(one.failing)) &&
    one.agent_id.toLowerCase().includes((query.get('id') ?? '').toLowerCase());
  const trouble = (one: ListedAgent): number =>
    [one.failing, one.state === 'offline', one.full && isTaking(one), one.state === 'draining', true].indexOf(
      true,
    );
  const found = all.filter(isAsked);
  const limit = query.has('limit') ? Number(query.get('limit')) : Infinity;
  const from = Number(query.get('cursor') ?? 0);
  const listed = query.has('limit') ? found.toSorted((a, b) => trouble(a) - trouble(b)) : found;
  const count = (isCounted: (one: ListedAgent) => boolean): number => all.filter(isCounted).length;
  const counts = {
    total: all.length,
    ready: count((one) => one.state === 'ready'),
    processing: count((one) => one.state === 'processing'),
    draining: count((one) => one.state === 'draining'),
    offline: count((one) => one.state === 'offline'),
    full: count((one) => one.full && isTaking(one)),
    failing: count((one) => one.failing),
  };
  return {
    time: seconds(Date.now()),
    agents: listed.slice(from, from + limit),
    total: all.length,
    counts,
    next_cursor: listed.length > from + limit ? String(from + limit) : null,
  };
}

function toListedAgent(state: State, agent_id: string): ListedAgent {
  const agent = state.agents.get(agent_id) as Agent;
  const { registration, registeredMs, contactMs, failedMs, failures } = agent;
  const offlineMs = state.offlineMs(agent);
  const isOffline = state.stateOf(agent_id) === 'offline';
  return {
    agent_id,
    endpoint: registration.endpoint,
    agent_tags: registration.agent_tags,
    state: state.stateOf(agent_id),
    drained_by_operator: false,
    full: state.isFull(agent_id),
    failing: failures > 0,
    eligible: state.isEligible(agent_id),
    max_concurrent: registration.max_concurrent ?? 1,
    current_load: state.loadOf(agent_id),
    running: state.tasksOf(agent_id).length,
    unacknowledged: state.tasksOf(agent_id).filter(({ isTaken }) => !isTaken).length,
    registered_time: seconds(registeredMs),
    replaced: agent.isReplaced,
    last_contact_time: seconds(contactMs),
    offline_time: isOffline || offlineMs === Infinity ? null : seconds(offlineMs),
    lost_after: registration.lost_after ?? null,
    push: {
      ...agent.push,
      failures,
      failing_since: failures > 0 ? seconds(failedMs) : null,
      next_attempt_time: null,
    },
  };
}

/** The operations by their names; null is a 204. */
export const AGENT_OPERATIONS: Readonly<Record<string, (call: Call) => Reply | Promise<Reply>>> = {
  registerAgent(call) {
    const { state, body } = call;
    const registration = body as unknown as Agent['registration'];
    const { agent_id } = registration;
    const now = Date.now();
    const token = randomUUID();
    const { assigned = 0, contactMs = 0 } = state.agents.get(agent_id) ?? {};
    const isReplaced = now - contactMs < 30_000 && state.stateOf(agent_id) !== 'offline';
    state.agents.set(agent_id, {
      registration,
      token,
      registeredMs: now,
      isReplaced,
      contactMs: now,
      external: readExternal(call, agent_id, registration.current_load ?? 0),
      isDraining: false,
      isGone: false,
      beats: [],
      failedMs: 0,
      failures: 0,
      isFailing: false,
      assigned,
      push: { last_status: null, last_error: null, last_ms: null },
    });
    const cancelled_request_ids = acknowledge(call, agent_id, true);
    state.dispatch();
    const { lost_after = Infinity } = registration;
    const times = { heartbeat_interval: Math.min(15, lost_after / 3), offline_after: 90 };
    return {
      ok: true,
      agent_id,
      state: state.stateOf(agent_id),
      registration: token,
      ...times,
      cancelled_request_ids,
      ...(isReplaced && { replaced: true }),
    };
  },
  heartbeatAgent(call) {
    const agent = requireAgent(call);
    const { agent_id } = agent.registration;
    const { draining, current_load, registration } = call.body;
    agent.isGone = false;
    agent.beats.push(Date.now());
    const cancelled_request_ids = acknowledge(call, agent_id);
    const isReplaced = call.isTrusted && registration !== undefined && registration !== agent.token;
    if (call.isTrusted && !isReplaced) {
      if (typeof draining === 'boolean') agent.isDraining = draining;
      if (current_load !== undefined) agent.external = readExternal(call, agent_id, current_load);
    }
    call.state.dispatch();
    const replaced = isReplaced && { replaced: true };
    return { ok: true, agent_id, state: call.state.stateOf(agent_id), cancelled_request_ids, ...replaced };
  },
  unregisterAgent(call) {
    const agent = requireAgent(call);
    const { agent_id } = agent.registration;
    if ((call.body.registration ?? agent.token) === agent.token) {
      call.state.agents.delete(agent_id);
      for (const task of call.state.tasksOf(agent_id)) task.mayMove = !task.isTaken && !task.mayBeTaken;
      call.state.dispatch();
    }
    return { ok: true, agent_id };
  },
  claimTask,
  reportResult,
  listAgents,
};
