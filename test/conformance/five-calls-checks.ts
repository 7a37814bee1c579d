/** The checks of the guide's section "An agent in five calls" (L1): its bodies, with names of this run. */
import { awaitAgent, awaitEnd, requireNoAgent, submitTask } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, requireEqual } from './findings.ts';
import type { Kit } from './kit.ts';
import { requireObject, requireProblem, requireStatus } from './subject.ts';

/** Returns the agent `by-hand` and its tag `capitals` under other names. */
function nameAgent(kit: Kit) {
  const [agent_id, tag] = [kit.name('by-hand'), kit.name('capitals')];
  const call = (path: string, more: Fields = {}) => kit.callAs({ agent_id }, path, more);
  return { agent_id, tag, call, register: () => call('register', { endpoint: 'pull', agent_tags: [tag] }) };
}

/** Makes all five calls; a task is submitted after the first one. */
async function played(kit: Kit) {
  const agent = nameAgent(kit);
  const early = await agent.call('heartbeat');
  const registered = await agent.register();
  const none = await agent.call('claim');
  const payload = { text: `hello ${kit.random(1_000)}` };
  const request_id = await submitTask(kit, [agent.tag], { payload });
  await awaitAgent(kit, request_id, agent);
  const claimed = await agent.call('claim');
  const beaten = await agent.call('heartbeat');
  const outcome = { request_id, status: 'success', result: { output: 'HELLO' } };
  const reported = await agent.call('result', outcome);
  const done = await awaitEnd(kit, request_id);
  const left = await agent.call('unregister');
  return { ...agent, early, registered, none, payload, request_id, claimed, beaten, reported, done, left };
}

export const FIVE_CALLS_CHECKS: Readonly<Record<string, Check>> = {
  'five-calls.api-agent-register-auth': async (kit) => {
    const { registered, done, agent_id } = await kit.see(played);
    requireStatus(registered, 200, 'with the body of the guide');
    requireEqual(done.agent_id, agent_id, '`agent_id` of the task that came');
  },
  'five-calls.api-agent-claim-auth': async (kit) => {
    const { claimed, none, request_id, payload } = await kit.see(played);
    requireStatus(none, 204, 'when there is no task');
    requireStatus(claimed, 200, 'when there is one');
    const task = requireObject(claimed);
    requireEqual([task.request_id, task.payload], [request_id, payload], 'The claimed task');
  },
  'five-calls.api-agent-heartbeat-auth': async (kit) => {
    const { early, beaten, registered } = await kit.see(played);
    requireStatus(beaten, 200, 'of a registered agent');
    requireStatus(early, 404, 'of an agent that has not registered');
    requireEqual(requireObject(registered).heartbeat_interval, 15, '`heartbeat_interval`');
  },
  'five-calls.api-agent-result-auth': async (kit) => {
    const { reported, done } = await kit.see(played);
    requireStatus(reported, 200, 'of a success');
    requireEqual([done.status, done.result], ['success', { output: 'HELLO' }], 'The task that has ended');
  },
  'five-calls.api-agent-unregister-auth': async (kit) => {
    const { left, tag } = await kit.see(played);
    requireStatus(left, 200, 'of a registered agent');
    await requireNoAgent(kit, [tag], 'for an agent that has unregistered');
  },
  'five-calls.each-is-a-post': async (kit) => {
    const agent = nameAgent(kit);
    await agent.register();
    for (const path of ['register', 'claim', 'heartbeat', 'result', 'unregister']) {
      const read = await kit.subject.call('GET', `/api/agent/${path}`);
      requireProblem(read, 405, 'method_not_allowed', 'with GET');
      const body = { endpoint: 'pull', agent_tags: [], request_id: kit.name('unknown'), status: 'success' };
      const wrong = await agent.call(path, { ...body, auth: kit.name('secret') });
      requireProblem(wrong, 401, 'unauthorized', 'with a wrong secret');
    }
  },
  'five-calls.capitals-is-a-tag': async (kit) => {
    const agent = nameAgent(kit);
    await agent.register();
    await awaitAgent(kit, await submitTask(kit, [kit.name('other'), agent.tag]), agent);
    await requireNoAgent(kit, [kit.name('other')], 'that does not ask for it');
  },
};
