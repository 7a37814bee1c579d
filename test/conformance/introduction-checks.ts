/** The checks of the guide's introduction and of its section "Versions" (L1). */
import { awaitPush, giveTask, requireNoAgent } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { isFields, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireStatus } from './subject.ts';

const SUBMIT = '/api/cli/tasks';

/** Makes refused calls of every kind that a program for HTTP can send. */
async function refusedCalls(kit: Kit): Promise<readonly Answer[]> {
  const { call } = kit.subject;
  const { second } = await kit.see(scenario.cancelled);
  return [
    second,
    await call('GET', `/${kit.name('path')}`),
    await call('DELETE', SUBMIT),
    await call('GET', `${SUBMIT}/${kit.name('unknown')}`),
    await call('GET', `${SUBMIT}/${kit.name('unknown')}`, { query: { auth: kit.auth } }),
    await call('GET', '/api/cli/events', { query: { auth: kit.auth } }),
    await call('GET', '/api/admin/overview'),
    await call('POST', SUBMIT, { body: '{' }),
    await call('POST', SUBMIT, { body: '{}', headers: { 'content-encoding': 'gzip' } }),
    await kit.submit([], { task_tags: 1 }),
    await kit.submit([], { payload: { large: 'x'.repeat(2 ** 20) } }),
    await kit.callAs({ agent_id: kit.name('unknown') }, 'heartbeat'),
  ];
}

export const INTRODUCTION_CHECKS: Readonly<Record<string, Check>> = {
  'introduction.accepts-tasks-from-clients': async (kit) => {
    const { agent, running, done, event, result } = await kit.see(scenario.succeeded);
    requireEqual([running.agent_id, done.agent_id], [agent.agent_id, agent.agent_id], 'The agent by its tag');
    requireEqual([done.status, event.status], ['success', 'success'], 'The outcome');
    requireEqual(done.result, result, 'The result');
  },
  'introduction.a-client-submits-a': async (kit) => {
    for (const play of [scenario.succeeded, scenario.failedByAgent] as const) {
      const { fresh, done, event } = await kit.see<scenario.Played>(play);
      const { request_id, status, error_info, result } = done;
      requireEqual(request_id, fresh.request_id, '`request_id` of the task that is polled');
      const seen = [event.event, event.request_id, event.status, event.error_info, event.result];
      requireEqual(seen, ['task_done', request_id, status, error_info, result], 'The event');
    }
  },
  'introduction.an-agent-registers-its': async (kit) => {
    const agent = await kit.startAgent();
    const pushed = await giveTask(kit, agent);
    await awaitPush(kit, agent);
    requireObject(await kit.report(agent, pushed, {}));
    requireEqual((await kit.get(pushed)).status, 'success', '`status` of a pushed task');
    const puller = await kit.startAgent({ endpoint: 'pull', max_concurrent: 1 });
    const request_id = await giveTask(kit, puller);
    const claimed = requireObject(await kit.callAs(puller, 'claim', { wait: 5 }));
    requireEqual(claimed.request_id, request_id, '`request_id` of the claimed task');
    await requireNoAgent(kit, [puller.tag], 'beyond the capacity of its agent');
    requireObject(await kit.report(puller, request_id, { result: { output: 'done' } }));
  },
  'introduction.a-task-that-fails': async (kit) => {
    const { done } = await kit.see(scenario.failedByAgent);
    const answer = await kit.subject.call('GET', `${SUBMIT}/${done.request_id}`, {
      query: { auth: kit.auth },
    });
    requireStatus(answer, 200, 'of a task that failed');
    requireEqual(requireObject(answer).status, 'failed', '`status`');
  },
  'introduction.every-http-error-is': async (kit) => {
    for (const { call, status, headers, json } of await refusedCalls(kit)) {
      requireThat(status >= 400, `${call}: ${status}; must be refused.`);
      const type = headers.get('content-type') ?? '';
      requireThat(
        type.startsWith('application/problem+json'),
        `${call}: ${status} is sent as "${type}", and must be application/problem+json.`,
      );
      const { code, type: urn, status: said } = isFields(json) ? json : {};
      requireEqual([said, urn], [status, `urn:task-gateway:problem:${code}`], `${call}: the problem`);
      requireThat(/^[a-z_]+$/.test(String(code)), `${call}: the code is ${code}.`);
    }
  },
  'introduction.bodies-are-json-in': async (kit) => {
    const { submitted, payload, done, result, stream, data } = await kit.see(scenario.succeeded);
    const type = submitted.headers.get('content-type') ?? '';
    requireThat(type.startsWith('application/json'), `A task is sent as "${type}".`);
    requireEqual([done.payload, done.result], [payload, result], 'The payload and the result');
    requireThat(data.includes('收到'), 'The event lost a text that is not ASCII.');
    requireEqual(stream.status, 200, 'The status of the stream');
  },
  'fields.the-version-of-the': async (kit) => {
    const { info } = requireObject(await kit.subject.call('GET', '/openapi.json'));
    const version = isFields(info) ? info.version : undefined;
    requireThat(typeof version === 'string', 'The document has no version.');
    const { submitted, stream } = await kit.see(scenario.unmatched);
    const refused = await refusedCalls(kit);
    for (const { call, headers } of [
      submitted,
      { call: 'GET /api/cli/events', headers: stream.headers },
      ...refused,
    ])
      requireEqual(headers.get('task-gateway-version'), version, `${call}: \`Task-Gateway-Version\``);
  },
};
