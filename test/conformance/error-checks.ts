/** The checks of the guide's section "What to do with an error" (L1). */
import { giveTask } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { isFields, requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireProblem } from './subject.ts';

const SUBMIT = '/api/cli/tasks';

/** Starts a claiming agent that has a task. */
async function claimed(kit: Kit): Promise<{ readonly agent: Agent; readonly request_id: unknown }> {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const request_id = await giveTask(kit, agent);
  const task = requireObject(await kit.callAs(agent, 'claim', { wait: 5 }));
  requireEqual(task.request_id, request_id, '`request_id` of the claimed task');
  return { agent, request_id };
}

/** Requires that a call is refused in this way, twice: only a changed call could succeed. */
async function requireRefused(
  send: () => Promise<Answer>,
  status: number,
  code: string,
  when: string,
): Promise<void> {
  requireProblem(await send(), status, code, when);
  requireProblem(await send(), status, code, `${when}, sent again`);
}

/** Lists calls that are refused whatever the gateway's state, each with its code. */
function wrongCalls(kit: Kit): readonly (readonly [number, string, () => Promise<Answer>])[] {
  const { subject } = kit;
  const large = 'x'.repeat(2 ** 20);
  const coded = { body: '{}', headers: { 'content-encoding': 'gzip' } };
  return [
    [422, 'validation_failed', () => kit.submit([], { task_tags: 1 })],
    [400, 'malformed_body', () => subject.call('POST', SUBMIT, { body: '{' })],
    [
      400,
      'agent_id_missing',
      () => subject.call('POST', '/api/agent/heartbeat', { json: { auth: kit.auth } }),
    ],
    [415, 'unsupported_media_type', () => subject.call('POST', SUBMIT, coded)],
    [413, 'payload_too_large', () => kit.submit([], { payload: { large } })],
  ];
}

/** Returns what the document says of a call's responses with this status; empty if it says nothing. */
function listedResponse(document: unknown, path: string, method: string, status: number): string {
  const get = (value: unknown, ...keys: readonly string[]): unknown =>
    keys.reduce((at, key) => (isFields(at) ? at[key] : undefined), value);
  const follow = (value: unknown): unknown => {
    const reference = get(value, '$ref');
    return typeof reference === 'string' ? get(document, ...reference.split('/').slice(1)) : value;
  };
  const response = follow(get(document, 'paths', path, method, 'responses', String(status)));
  const schema = follow(get(response, 'content', 'application/problem+json', 'schema'));
  return JSON.stringify([response, schema]);
}

export const ERROR_CHECKS: Readonly<Record<string, Check>> = {
  'errors.busy-too-many-streams': async (kit) => {
    // The scenario also shows that the same request is accepted once another stream has closed.
    const { refused } = await kit.see(scenario.manyStreams);
    requireProblem(refused, 429, 'too_many_streams', 'of the 101st stream');
    const pause = refused.headers.get('retry-after') ?? '';
    requireThat(/^\d+$/.test(pause), `\`Retry-After\` is "${pause}", and must be whole seconds.`);
  },
  'errors.store-unavailable-internal-no': async (kit) => {
    const { agent, request_id } = await claimed(kit);
    const registration = { endpoint: 'pull', agent_tags: [agent.tag], request_ids: [request_id] };
    for (const [path, more] of [
      ['heartbeat', { request_ids: [request_id] }],
      ['register', registration],
      ['output', { request_id, writer: 'w', from: 0, pieces: [{ text: 'x' }] }],
    ] as const)
      for (const _again of [1, 2]) requireObject(await kit.callAs(agent, path, more));
    const { status, agent_id } = await kit.get(request_id);
    requireEqual([status, agent_id], ['running', agent.agent_id], 'The task after repeated calls');
    const report = () => kit.report(agent, request_id, { result: { output: 'done' } });
    requireObject(await report());
    const done = await kit.get(request_id);
    requireEqual(requireObject(await report()).accepted, false, '`accepted` of a repeated report');
    requireProblem(await kit.cancel(request_id), 400, 'task_terminal', 'of a task that has ended');
    requireEqual(await kit.get(request_id), done, 'The task after a repeated report and a cancel');
    const submission = { task_type: 'x', cli_session_id: kit.name('session') };
    const headers = { 'idempotency-key': kit.name('key') };
    const submit = () => kit.submit([kit.prefix], submission, headers);
    const [first, again] = [requireObject(await submit()), requireObject(await submit())];
    requireEqual(again.request_id, first.request_id, 'The task of a repeated submission');
  },
  'errors.agent-not-found-after': async (kit) => {
    const agent = { agent_id: kit.name('agent') };
    requireProblem(await kit.callAs(agent, 'heartbeat'), 404, 'agent_not_found', 'before it registered');
    requireObject(await kit.callAs(agent, 'register', { endpoint: 'pull', agent_tags: [] }));
    requireObject(await kit.callAs(agent, 'heartbeat'));
    requireObject(await kit.callAs(agent, 'unregister'));
  },
  'errors.unauthorized-origin-not-allowed': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const read = (auth: string) =>
      kit.subject.call('GET', `${SUBMIT}/${fresh.request_id}`, { query: { auth } });
    const wrong = kit.name('secret');
    await requireRefused(() => read(wrong), 401, 'unauthorized', 'with a wrong secret');
    requireEqual((await read(wrong)).headers.get('www-authenticate'), 'Bearer', '`WWW-Authenticate`');
    requireObject(await read(kit.auth));
  },
  'errors.validation-failed-malformed-body': async (kit) => {
    for (const [status, code, send] of wrongCalls(kit))
      await requireRefused(send, status, code, 'as it is wrong');
    requireObject(await kit.submit([]));
  },
  'errors.idempotency-conflict-no-use': async (kit) => {
    const send = (key: string) => () =>
      kit.submit([kit.name('nowhere')], {}, { 'idempotency-key': `${kit.prefix}-${key}` });
    const first = requireObject(await send('one')());
    await requireRefused(send('one'), 422, 'idempotency_conflict', 'of other content');
    const other = requireObject(await send('two')());
    requireThat(other.request_id !== first.request_id, 'A new key must create a task.');
  },
  'errors.task-not-found-agent': async (kit) => {
    const unknown = kit.name('unknown');
    await requireRefused(() => kit.cancel(unknown), 404, 'task_not_found', 'of an unknown task');
    const { agent, request_id } = await claimed(kit);
    const other = await kit.startAgent({ endpoint: 'pull' });
    const before = await kit.get(request_id);
    await requireRefused(() => kit.report(other, request_id, {}), 400, 'agent_mismatch', 'of another agent');
    requireEqual(await kit.get(request_id), before, 'The task after a foreign report');
    requireObject(await kit.report(agent, request_id, {}));
    const done = await kit.get(request_id);
    await requireRefused(() => kit.cancel(request_id), 400, 'task_terminal', 'of a task that has ended');
    requireEqual(await kit.get(request_id), done, 'The task after a late cancel');
  },
  'errors.route-not-found-method': async (kit) => {
    const nowhere = `/${kit.name('path')}`;
    const call = (method: string, path: string) => () => kit.subject.call(method, path);
    await requireRefused(call('GET', nowhere), 404, 'route_not_found', 'of no path');
    await requireRefused(call('DELETE', SUBMIT), 405, 'method_not_allowed', 'of a submission');
  },
  'errors.an-agent-whose-result': async (kit) => {
    const { agent, request_id } = await claimed(kit);
    const large = { output: 'x'.repeat(2 ** 20) };
    requireProblem(
      await kit.report(agent, request_id, { result: large }),
      413,
      'payload_too_large',
      'of 1 MiB',
    );
    const wrong = await kit.report(agent, request_id, { result: 'text' });
    requireProblem(wrong, 422, 'validation_failed', 'of a result that is a text');
    requireEqual((await kit.get(request_id)).status, 'running', '`status` after a result that was refused');
    const error_info = 'The result was refused.';
    requireObject(await kit.report(agent, request_id, { status: 'failed', error_info }));
    const { status, error_info: seen } = await kit.get(request_id);
    requireEqual([status, seen], ['failed', error_info], 'The task');
  },
  'fields.the-same-for-programs': async (kit) => {
    const match = async (tag: string) =>
      requireObject(
        await kit.subject.call('POST', '/api/cli/match', { json: { auth: kit.auth, task_tags: [tag] } }),
      );
    const { tag } = await kit.startAgent();
    requireEqual((await match(tag)).remedies, [], '`remedies` where an agent qualifies');
    const nowhere = kit.name('nowhere');
    const { hint, remedies } = await match(nowhere);
    requireThat(String(hint).includes(nowhere), `\`hint\` is ${hint}, and must name the tag.`);
    const named = Array.isArray(remedies) && remedies.some((one) => isFields(one) && one.tag === nowhere);
    requireThat(named, '`remedies` must name the tag as `hint` does.');
  },
  'errors.each-operation-lists-those': async (kit) => {
    const document = requireObject(await kit.subject.call('GET', '/openapi.json'));
    const { agent, request_id } = await claimed(kit);
    requireObject(await kit.cancel(request_id));
    const other = await kit.startAgent({ endpoint: 'pull' });
    const unknown = { agent_id: kit.name('unknown') };
    const sent: readonly (readonly [string, Answer])[] = [
      ['/api/cli/tasks/{request_id}/cancel', await kit.cancel(request_id)],
      ['/api/cli/tasks/{request_id}/cancel', await kit.cancel(unknown.agent_id)],
      ['/api/agent/result', await kit.report(other, request_id, {})],
      ['/api/agent/result', await kit.report(agent, unknown.agent_id, {})],
      ['/api/agent/heartbeat', await kit.callAs(unknown, 'heartbeat')],
      ['/api/cli/tasks', await kit.submit([], { auth: kit.name('secret') })],
      ['/api/cli/tasks', await kit.submit([], { payload: 1 })],
      ['/api/cli/tasks', await kit.subject.call('POST', SUBMIT, { body: '{' })],
    ];
    for (const [path, { call, status, json }] of sent) {
      const code = isFields(json) ? json.code : undefined;
      const isListed = listedResponse(document, path, 'post', status).includes(JSON.stringify(code));
      requireThat(
        code !== undefined && isListed,
        `${call}: the document lacks ${status} ${code} of ${path}.`,
      );
    }
  },
  'errors.steps-1-and-3': async (kit) => {
    const method = await kit.subject.call('DELETE', SUBMIT);
    requireProblem(method, 405, 'method_not_allowed', 'of a submission');
    const headers = { 'x-long': 'x'.repeat(20_000) };
    const long = await kit.subject.call('GET', '/', { headers });
    requireProblem(long, 431, 'headers_too_large', 'of 20 kB');
    for (const [{ json }, shown] of [
      [method, ['urn:task-gateway:problem:method_not_allowed', 'Method not allowed']],
      [long, ['urn:task-gateway:problem:headers_too_large', 'Headers too large']],
    ] as const) {
      const { type, title, detail } = isFields(json) ? json : {};
      requireEqual([type, title], shown, '`type` and `title`');
      requireThat(typeof detail === 'string' && detail !== '', '`detail` must be a text.');
    }
  },
  'errors.the-title-of-route': async (kit) => {
    // No program for HTTP can send bytes that are a malformed request.
    const answer = await kit.subject.call('GET', `/${kit.name('path')}`);
    requireProblem(answer, 404, 'route_not_found', 'of no path');
    requireEqual(isFields(answer.json) && answer.json.title, 'Path not found', '`title`');
  },
};
