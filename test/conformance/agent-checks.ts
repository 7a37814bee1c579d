/** The checks of the agent's role, in their order: each goes on where the last one ended. */
import type { AgentUnderTest } from './agent-under-test.ts';
import { type Fields, NotScored, requireEqual, requireThat } from './findings.ts';

export type AgentCheck = (agent: AgentUnderTest) => Promise<void>;

function count({ calls }: AgentUnderTest, ...names: readonly string[]): number {
  return calls.filter(({ name }) => names.includes(name)).length;
}

/** Waits for one more call of these names than there are. */
async function untilNext(agent: AgentUnderTest, what: string, ...names: readonly string[]): Promise<void> {
  const before = count(agent, ...names);
  await agent.until(what, () => (count(agent, ...names) > before ? true : undefined));
}

function untilEnd(agent: AgentUnderTest, request_id: string, number = 1): Promise<readonly Fields[]> {
  return agent.until('a report of the end of its task', () => {
    const ends = agent.endsOf(request_id);
    return ends.length >= number ? ends : undefined;
  });
}

async function requireRefused(
  agent: AgentUnderTest,
  forged: Parameters<AgentUnderTest['deliver']>[1],
): Promise<void> {
  if (agent.isPull()) throw new NotScored('It claims its tasks, so nothing is pushed to it.');
  const right = agent.newTask();
  requireThat((await agent.deliver(right)) < 300, 'A push that is signed rightly must be taken.');
  await untilEnd(agent, right);
  const wrong = agent.newTask();
  const status = await agent.deliver(wrong, forged);
  requireThat(status >= 400 && status < 500, `The push got ${status}; must be refused, with 401.`);
  await agent.pause();
  requireEqual(agent.endsOf(wrong), [], 'The reports of a task that was refused');
}

/** The checks, by their requirements. */
export const AGENT_CHECKS: Readonly<Record<string, AgentCheck>> = {
  'agent.registers': async (agent) => {
    const { body } = await agent.until('it registers', () =>
      agent.calls.find(({ name }) => name === 'register'),
    );
    const { auth, agent_id, endpoint, agent_tags } = body;
    requireEqual(auth, agent.auth, '`auth` (TASK_GATEWAY_AUTH)');
    requireThat(typeof agent_id === 'string' && agent_id !== '', '`agent_id` must be a text.');
    requireThat(
      endpoint === 'pull' || URL.canParse(String(endpoint)),
      '`endpoint` must be a URL, or "pull".',
    );
    requireThat(Array.isArray(agent_tags), '`agent_tags` must be a list.');
  },
  'agent.sends-heartbeats': (agent) => untilNext(agent, 'a heartbeat or a claim', 'heartbeat', 'claim'),
  'agent.reports': async (agent) => {
    const request_id = agent.newTask();
    const status = await agent.deliver(request_id);
    requireThat(status < 300 || status === 409, `The push got ${status}; must be a 2xx.`);
    const [end] = await untilEnd(agent, request_id);
    const { agent_id } = agent.calls.find(({ name }) => name === 'register')?.body ?? {};
    requireEqual(end?.agent_id, agent_id, '`agent_id` of the report');
    requireThat(end?.status === 'success' || end?.status === 'failed', `It reported ${end?.status}.`);
  },
  'agent.repeated-push': async (agent) => {
    if (agent.isPull()) throw new NotScored('It claims its tasks, so nothing is pushed to it.');
    const request_id = agent.newTask();
    await agent.deliver(request_id);
    await untilEnd(agent, request_id);
    const status = await agent.deliver(request_id);
    requireThat(status < 300 || status === 409, `The repeated push got ${status}; must be a 2xx or 409.`);
    await agent.pause();
    const outcomes = agent
      .endsOf(request_id)
      .map(({ status: end, result, error_info = null }) => ({ end, result, error_info }));
    for (const outcome of outcomes) requireEqual(outcome, outcomes[0], 'The outcome after a repeated push');
  },
  'agent.wrong-signature': (agent) => requireRefused(agent, { signature: `v1,${'A'.repeat(43)}=` }),
  'agent.old-timestamp': (agent) => requireRefused(agent, { ageSeconds: 400 }),
  'agent.repeated-report': async (agent) => {
    const request_id = agent.newTask();
    agent.refuseNext('result', 503, 'busy');
    await agent.deliver(request_id);
    const [first, second] = await untilEnd(agent, request_id, 2);
    requireEqual(second?.status, first?.status, '`status` of the repeated report');
  },
  'agent.registers-again': async (agent) => {
    for (const name of ['heartbeat', 'claim']) agent.refuseNext(name, 404, 'agent_not_found');
    await untilNext(agent, 'it registers again', 'register');
  },
  'agent.refused-result': async (agent) => {
    const request_id = agent.newTask();
    agent.refuseNext('result', 413, 'payload_too_large');
    await agent.deliver(request_id);
    const ends = await untilEnd(agent, request_id, 2);
    requireEqual(ends.at(-1)?.status, 'failed', '`status` of the report behind the refused one');
  },
  'agent.unregisters': async (agent) => {
    requireThat(count(agent, 'register') > 0, 'It never registered.');
    const before = count(agent, 'unregister');
    agent.end();
    await agent.until('it unregisters', () => (count(agent, 'unregister') > before ? true : undefined));
  },
};
