/** The checks of what the document says about the operations of agents (L1). */
import { awaitAgent, awaitPush, giveTask, requireNoAgent } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { requireObject, requireProblem, requireStatus } from './subject.ts';

const claim = (kit: Kit, agent: Agent, wait: number) => kit.callAs(agent, 'claim', { wait });

/** Calls as an unknown agent, which gets 404; then registers it and requires another response. */
function afterRegistering(path: string, more: Fields = {}): Check {
  return async (kit) => {
    const agent = { agent_id: kit.name('agent') };
    const { fresh } = await kit.see(scenario.unmatched);
    const call = () => kit.callAs(agent, path, { request_id: fresh.request_id, ...more });
    requireProblem(await call(), 404, 'agent_not_found', 'of an agent that is not known');
    requireObject(await kit.callAs(agent, 'register', { endpoint: 'pull', agent_tags: [] }));
    const { call: sent, status } = await call();
    requireThat(status !== 404, `${sent}: ${status} of an agent that has registered.`);
    requireObject(await kit.callAs(agent, 'unregister'));
  };
}

/** Returns the gateway's time, in seconds. */
async function readClock(kit: Kit): Promise<number> {
  return Number(requireObject(await kit.submit([])).create_time);
}

/** Has an agent report progress, then a result, and the same result again. */
async function reportedTwice(kit: Kit) {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const request_id = await giveTask(kit, agent);
  requireObject(await claim(kit, agent, 5));
  await kit.report(agent, request_id, { status: 'running', progress: 30 });
  const running = await kit.get(request_id);
  const report = () => kit.report(agent, request_id, { result: { output: 'done' } });
  const first = await report();
  const done = await kit.get(request_id);
  return { running, first, done, again: await report(), after: await kit.get(request_id) };
}

export const AGENT_OPERATION_CHECKS: Readonly<Record<string, Check>> = {
  'claimTask.returns-the-next-task': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const ids = [await giveTask(kit, agent), await giveTask(kit, agent)];
    const claimed = [];
    for (const _task of ids) claimed.push(requireObject(await claim(kit, agent, 5)).request_id);
    requireEqual(claimed, ids, 'The tasks that were claimed, the oldest first');
    const start = await readClock(kit);
    requireStatus(await claim(kit, agent, 0.6), 204, 'when there is none');
    const seconds = (await readClock(kit)) - start;
    requireThat(seconds > 0.5, `The 204 to a \`wait\` of 0.6 came after ${seconds} s.`);
  },
  'claimTask.on-404-register-again': afterRegistering('claim', { wait: 0 }),
  'claimTask.an-agent-that-registered': async (kit) => {
    const agent = await kit.startAgent();
    requireProblem(await claim(kit, agent, 0), 422, 'validation_failed', 'of an agent with a URL');
  },
  'heartbeatAgent.reports-that-the-agent': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    requireObject(await kit.callAs(agent, 'heartbeat', { current_load: 10 }));
    await requireNoAgent(kit, [agent.tag], 'for an agent that said it is full');
    requireObject(await kit.callAs(agent, 'heartbeat', { current_load: 0 }));
    await giveTask(kit, agent);
  },
  'heartbeatAgent.on-404-register-again': afterRegistering('heartbeat'),
  'registerAgent.registers-an-agent-or': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const running = await giveTask(kit, agent);
    requireObject(await claim(kit, agent, 5));
    const tag = kit.name('tag');
    const again = { endpoint: 'pull', agent_tags: [tag], max_concurrent: 10, request_ids: [running] };
    requireObject(await kit.callAs(agent, 'register', again));
    await giveTask(kit, { ...agent, tag });
    const { status, agent_id } = await kit.get(running);
    requireEqual([status, agent_id], ['running', agent.agent_id], 'The task that was running');
  },
  'reportResult.reports-the-progress-or': async (kit) => {
    const { running, done } = await kit.see(reportedTwice);
    requireEqual([running.status, running.progress], ['running', 30], 'The task with progress');
    requireEqual([done.status, done.result], ['success', { output: 'done' }], 'The task with a result');
  },
  'reportResult.repeat-the-report-until': async (kit) => {
    const { first, again, done, after } = await kit.see(reportedTwice);
    const accepted = [first, again].map((answer) => requireObject(answer).accepted);
    requireEqual(accepted, [true, false], '`accepted` of a report and of its repeat');
    requireEqual(after, done, 'The task after the repeat');
  },
  'reportResult.on-404-task-not': afterRegistering('result', { status: 'success', progress: 100 }),
  'unregisterAgent.unregisters-an-agent-it': async (kit) => {
    const { left, task } = await kit.see(scenario.unregistered);
    requireEqual(requireObject(left).ok, true, '`ok`');
    requireEqual([task.status, task.agent_id], ['failed', null], 'A task for an agent that has left');
  },
  'unregisterAgent.a-task-it-never': async (kit) => {
    // A task that the agent may have taken moves only after 90 seconds, which takes too long here.
    const taken = await kit.startAgent();
    const refused = await kit.startAgent({}, 404);
    const tasks = [await giveTask(kit, taken), await giveTask(kit, refused)];
    for (const agent of [taken, refused]) await awaitPush(kit, agent);
    requireObject(await kit.callAs(taken, 'heartbeat', { request_ids: [tasks[0]] }));
    const other = await kit.startAgent({ agent_tags: [taken.tag, refused.tag] });
    for (const agent of [taken, refused]) requireObject(await kit.callAs(agent, 'unregister'));
    await awaitAgent(kit, tasks[1], other);
    const { status, agent_id } = await kit.get(tasks[0]);
    requireEqual([status, agent_id], ['running', taken.agent_id], 'The task that it acknowledged');
    for (const id of tasks) requireObject(await kit.cancel(id));
  },
  'unregisterAgent.for-an-unknown-agent': async (kit) => {
    const unknown = { agent_id: kit.name('unknown') };
    requireProblem(await kit.callAs(unknown, 'unregister'), 404, 'agent_not_found', 'of an unknown agent');
  },
  'unregisterAgent.send-the-registration-that': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const { registration } = requireObject(agent.registered);
    const again = requireObject(
      await kit.callAs(agent, 'register', { endpoint: 'pull', agent_tags: [agent.tag] }),
    );
    await kit.callAs(agent, 'unregister', { registration });
    requireObject(await kit.callAs(agent, 'heartbeat'));
    requireObject(await kit.callAs(agent, 'unregister', { registration: again.registration }));
    requireStatus(await kit.callAs(agent, 'heartbeat'), 404, 'of an agent that has left');
  },
};
