/** The checks of the guide's section "Secrets" (L1): which call takes which secret, and where. */
import type { Check } from './check.ts';
import { NotScored, requireEqual, requireThat } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import { beginWork } from './played-outputs.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireProblem, requireStatus } from './subject.ts';

type Secret = {
  readonly body?: string;
  readonly query?: string;
  readonly bearer?: string;
  readonly admin?: string;
  /** A whole `Authorization` header. */
  readonly authorization?: string;
};
type Call = (secret: Secret) => Promise<Answer>;

/** Returns a call that sends a secret where it is asked to. */
function callOf(kit: Kit, method: string, path: string, json?: object): Call {
  return ({ body, query, bearer, admin, authorization }) =>
    kit.subject.call(method, path, {
      query: query === undefined ? {} : { auth: query },
      headers: {
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(authorization === undefined ? {} : { authorization }),
        ...(admin === undefined ? {} : { 'x-admin-auth': admin }),
      },
      ...(json === undefined ? {} : { json: { ...json, ...(body === undefined ? {} : { auth: body }) } }),
    });
}

function requireTaken({ call, status, text }: Answer, when: string): void {
  requireThat(
    status >= 200 && status < 300,
    `${call} ${when}: ${status} ${text.slice(0, 120)}; must be taken.`,
  );
}

const requireUnauthorized = (answer: Answer, when: string): void =>
  requireProblem(answer, 401, 'unauthorized', when);

async function readingCalls(kit: Kit): Promise<readonly Call[]> {
  const { fresh } = await kit.see(scenario.unmatched);
  const path = `/api/cli/tasks/${fresh.request_id}`;
  return ['', '/explain', '/output'].map((part) => callOf(kit, 'GET', path + part));
}

export const SECRET_CHECKS: Readonly<Record<string, Check>> = {
  'secrets.submittask-registeragent-claimtask-writeoutput': async (kit) => {
    const agent_id = kit.name('agent');
    const { agent, request_id } = await beginWork(kit);
    const question = { key: 'k', prompt: '?' };
    const pieces = { request_id, writer: 'w', from: 0, pieces: [{ question }] };
    const wrong = kit.name('secret');
    for (const call of [
      callOf(kit, 'POST', '/api/cli/tasks', { task_type: 'x', task_tags: [], payload: {} }),
      callOf(kit, 'POST', '/api/agent/register', { agent_id, endpoint: 'pull', agent_tags: [] }),
      callOf(kit, 'POST', '/api/agent/claim', { agent_id }),
      callOf(kit, 'POST', '/api/agent/output', { agent_id: agent.agent_id, ...pieces }),
      callOf(kit, 'POST', '/api/agent/answer', { agent_id: agent.agent_id, request_id, key: 'k' }),
    ]) {
      requireTaken(await call({ body: kit.auth }), 'with the secret in the body');
      requireStatus(await call({ query: kit.auth }), 422, 'with the secret in the query alone');
      requireUnauthorized(await call({ body: wrong }), 'with a wrong secret');
      requireUnauthorized(await call({ body: kit.auth, query: wrong }), 'with a wrong secret in the query');
    }
  },
  'secrets.gettask-explaintask-readoutput-required': async (kit) => {
    const admin = requireAdmin(kit);
    for (const call of await readingCalls(kit)) {
      for (const secret of [{ query: kit.auth }, { bearer: kit.auth }, { admin }])
        requireTaken(await call(secret), `with the secret in ${Object.keys(secret)}`);
      requireUnauthorized(await call({}), 'without a secret');
      requireUnauthorized(await call({ bearer: kit.name('secret') }), 'with a wrong secret');
      requireUnauthorized(
        await call({ admin: kit.name('secret') }),
        'with a wrong secret of an administrator',
      );
    }
  },
  'secrets.previewmatch-required-or-the': async (kit) => {
    const admin = requireAdmin(kit);
    const call = callOf(kit, 'POST', '/api/cli/match', { task_tags: [] });
    requireTaken(await call({ body: kit.auth }), 'with the secret in the body');
    requireTaken(await call({ admin }), 'with the administrator’s secret');
    requireStatus(await call({}), 422, 'without a secret');
    requireUnauthorized(await call({ body: kit.name('secret') }), 'with a wrong secret');
  },
  'secrets.canceltask-subscribeevents-answertask-required': async (kit) => {
    const nowhere = [kit.name('nowhere')];
    const task = requireObject(await kit.submit(nowhere, { queue_timeout: 60 }));
    const cancel = callOf(kit, 'POST', `/api/cli/tasks/${task.request_id}/cancel`);
    const subscribe = callOf(kit, 'GET', '/api/cli/events?cli_session_id=x');
    const answer = callOf(kit, 'POST', `/api/cli/tasks/${task.request_id}/answer`, { key: 'k', answer: 1 });
    for (const call of [cancel, subscribe, answer]) requireUnauthorized(await call({}), 'without a secret');
    requireUnauthorized(await cancel({ query: kit.name('secret') }), 'with a wrong secret');
    requireUnauthorized(await cancel({ admin: kit.adminAuth ?? 'x' }), 'with the administrator’s secret');
    requireTaken(await cancel({ bearer: kit.auth }), 'with the secret as Bearer');
  },
  'secrets.heartbeatagent-reportresult-unregisteragent-optional': async (kit) => {
    const agent = await kit.startAgent();
    const { agent_id } = agent;
    const beat = callOf(kit, 'POST', '/api/agent/heartbeat', { agent_id });
    const leave = callOf(kit, 'POST', '/api/agent/unregister', { agent_id });
    for (const call of [beat, leave])
      requireUnauthorized(await call({ body: kit.name('secret') }), 'with a wrong secret');
    requireUnauthorized(await beat({ query: kit.name('secret') }), 'with a wrong secret in the query');
    requireTaken(await beat({ bearer: kit.auth }), 'with the secret as Bearer');
    const { status } = await beat({});
    requireThat(
      status === 200 || status === 401,
      `A heartbeat without a secret: ${status}; must be 200, or 401.`,
    );
    requireTaken(await leave({ query: kit.auth }), 'with the secret in the query');
  },
  'secrets.listagents-listtasks-getoverview-canceltasks': async (kit) => {
    const admin = requireAdmin(kit);
    const agent = await kit.startAgent();
    const none = { request_ids: [kit.name('unknown')], created_before: 9_999_999_999 };
    for (const call of [
      callOf(kit, 'GET', '/api/admin/agents?limit=1'),
      callOf(kit, 'GET', '/api/admin/tasks?limit=1'),
      callOf(kit, 'GET', '/api/admin/overview'),
      callOf(kit, 'POST', '/api/admin/tasks/cancel', none),
      callOf(kit, 'GET', `/api/admin/agents/${agent.agent_id}`),
      callOf(kit, 'POST', `/api/admin/agents/${agent.agent_id}/drain`, { draining: false }),
    ]) {
      requireTaken(await call({ admin }), 'with the administrator’s secret');
      requireUnauthorized(await call({}), 'without a secret');
      requireUnauthorized(await call({ bearer: admin }), 'with the administrator’s secret as Bearer');
      requireUnauthorized(await call({ bearer: kit.auth, admin: kit.auth }), 'with the gateway’s secret');
    }
  },
  'fields.if-a-call-has': async (kit) => {
    const call = callOf(kit, 'POST', '/api/cli/tasks', { task_type: 'x', task_tags: [], payload: {} });
    const wrong = kit.name('secret');
    requireTaken(await call({ body: kit.auth, query: kit.auth }), 'with both');
    requireTaken(await call({ body: kit.auth, bearer: kit.auth }), 'with both');
    requireUnauthorized(await call({ body: wrong, query: kit.auth }), 'with a wrong one in the body');
    requireUnauthorized(await call({ body: kit.auth, bearer: wrong }), 'with a wrong one as Bearer');
  },
  'fields.it-is-read-only': async (kit) => {
    const [call] = await readingCalls(kit);
    if (!call) return;
    requireTaken(
      await call({ query: kit.auth, bearer: kit.name('secret') }),
      'with a wrong Bearer beside the query',
    );
    requireUnauthorized(await call({ authorization: kit.auth }), 'without the word Bearer');
  },
  'fields.calls-that-take-either': async (kit) => {
    for (const call of await readingCalls(kit))
      requireTaken(
        await call({ query: kit.auth, admin: kit.name('secret') }),
        'with a wrong X-Admin-Auth beside it',
      );
  },
  'fields.the-optional-fields-count': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const beat = (more: object) =>
      kit.subject.call('POST', '/api/agent/heartbeat', { json: { agent_id: agent.agent_id, ...more } });
    const ignored = await beat({ draining: true, current_load: 10 });
    if (ignored.status === 401) throw new NotScored('This gateway requires the secret of agents.');
    requireEqual(requireObject(ignored).state, 'ready', '`state` after a heartbeat without a secret');
    const taken = await beat({ auth: kit.auth, draining: true });
    requireEqual(requireObject(taken).state, 'draining', '`state` after a heartbeat with it');
  },
};
