/** The checks of each call and its secrets, by the letter of the specification (L0). */
import type { Check } from './check.ts';
import { NotScored, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireStatus } from './subject.ts';

/** How long a stream that has nothing to send is watched. */
const OPEN_MS = 1_500;
const WITHOUT_ADMIN = 'The administrator’s secret was not given (--admin-auth).';

const send = (kit: Kit, path: string, json: unknown, query = {}): Promise<Answer> =>
  kit.subject.call('POST', path, { json, query });

/** Makes the calls that carry the secret, each with the given one, or without one if it is absent. */
async function callWith(kit: Kit, auth: string | undefined, where: 'body' | 'query') {
  const secret: Readonly<Record<string, string>> = auth === undefined ? {} : { auth };
  if (where === 'body') {
    const submission = {
      task_type: 'x',
      task_tags: [],
      payload: {},
      timeout: 60,
      cli_session_id: kit.name('s'),
    };
    const agent = { agent_id: kit.name('agent'), endpoint: 'http://127.0.0.1:9/', agent_tags: [] };
    return [
      await send(kit, '/api/cli/tasks', { ...submission, ...secret }),
      await send(kit, '/api/agent/register', { ...agent, max_concurrent: 1, current_load: 0, ...secret }),
    ];
  }
  const { fresh } = await kit.see(scenario.unmatched);
  const stream = await kit.subject.openStream({ cli_session_id: kit.name('s'), ...secret });
  stream.close();
  const { status, headers } = stream;
  return [
    await kit.subject.call('GET', `/api/cli/tasks/${fresh.request_id}`, { query: secret }),
    await kit.subject.call('POST', `/api/cli/tasks/${fresh.request_id}/cancel`, { query: secret }),
    { call: 'GET /api/cli/events', status, headers, text: '', json: undefined },
  ];
}

/** Requires that the right secret works (cancelling an ended task is a 400), and nothing does without it. */
async function requirePlacement(kit: Kit, where: 'body' | 'query'): Promise<void> {
  for (const { call, status } of await callWith(kit, kit.auth, where)) {
    const isTaken = status < 300 || (call.endsWith('/cancel') && status === 400);
    requireThat(isTaken, `${call} with the secret in the ${where}: ${status}; must be taken.`);
  }
  const none = await callWith(kit, undefined, where);
  for (const { call, status } of none)
    requireThat(status >= 400 && status < 500, `${call} without a secret: ${status}; must be refused.`);
  const [cancel] = none.filter(({ call }) => call.endsWith('/cancel'));
  requireThat(cancel?.status !== 400, 'A cancel without a secret looked at the task.');
}

/** Requires that a body with one field of a wrong type is refused, and the usual body is not. */
async function requireTypes(kit: Kit, path: string, usual: object, wrong: object): Promise<void> {
  requireObject(await send(kit, path, usual));
  requireStatus(await send(kit, path, { auth: kit.auth }), 422, 'with `auth` alone');
  for (const [field, value] of Object.entries(wrong)) {
    const when = `with \`${field}\`: ${JSON.stringify(value)}`;
    requireStatus(await send(kit, path, { ...usual, [field]: value }), 422, when);
  }
}

export const CALL_CHECKS: Readonly<Record<string, Check>> = {
  'body.json': async (kit) => {
    const { submitted, reported } = await kit.see(scenario.succeeded);
    const { first } = await kit.see(scenario.cancelled);
    for (const answer of [submitted, first, ...(reported ? [reported] : [])]) {
      requireObject(answer);
      const type = answer.headers.get('content-type') ?? '';
      requireThat(
        /^application\/json\b/.test(type),
        `${answer.call} is of the type "${type}"; must be JSON.`,
      );
    }
  },
  'submit.path': async (kit) => {
    const { submitted, fresh } = await kit.see(scenario.unmatched);
    requireObject(submitted);
    requireThat(typeof fresh.request_id === 'string', 'A submitted task must have a `request_id`.');
    requireEqual(fresh.status, 'pending', '`status` of the response');
  },
  'submit.session-equal': async (kit) => {
    const { done, event, submission } = await kit.see(scenario.unmatched);
    const { seen } = await kit.see(scenario.replayed);
    requireEqual(done.cli_session_id, submission.cli_session_id, '`cli_session_id`');
    requireThat(event.request_id === done.request_id && seen.length > 0, 'The event is on another stream.');
  },
  'submit.wrong-type': (kit) => {
    const usual = {
      auth: kit.auth,
      task_type: 'x',
      task_tags: [],
      cli_session_id: kit.name('s'),
      timeout: 60,
    };
    const wrong = { task_type: 1, task_tags: 'x', cli_session_id: {}, payload: 'x', timeout: 'soon' };
    return requireTypes(kit, '/api/cli/tasks', { ...usual, payload: {} }, wrong);
  },
  'events.content-type': async (kit) => {
    const { stream, event } = await kit.see(scenario.succeeded);
    const type = stream.headers.get('content-type') ?? '';
    requireThat(/^text\/event-stream\b/.test(type), `The stream is of the type "${type}".`);
    requireEqual(event.event, 'task_done', 'Its event');
  },
  'events.long-lived': async (kit) => {
    const { stream } = await kit.see(scenario.unmatched);
    await new Promise((resolve) => setTimeout(resolve, OPEN_MS));
    requireThat(stream.isOpen(), 'The gateway ended the stream shortly after an event.');
  },
  'get.unknown': async (kit) => {
    await kit.see(scenario.unmatched);
    const path = `/api/cli/tasks/${kit.name('unknown')}`;
    requireStatus(
      await kit.subject.call('GET', path, { query: { auth: kit.auth } }),
      404,
      'of an unknown task',
    );
  },
  'cancel.unknown': async (kit) => {
    requireObject((await kit.see(scenario.cancelled)).first);
    requireStatus(await kit.cancel(kit.name('unknown')), 404, 'of an unknown task');
  },
  'register.path': async (kit) => {
    const { agent, running } = await kit.see(scenario.succeeded);
    requireObject(agent.registered);
    requireEqual(running.agent_id, agent.agent_id, 'The agent of a task for it');
  },
  'register.wrong-type': (kit) => {
    const usual = {
      auth: kit.auth,
      agent_id: kit.name('agent'),
      endpoint: 'http://127.0.0.1:9/',
      agent_tags: [],
    };
    const wrong = { agent_id: 1, endpoint: 1, agent_tags: 'x', max_concurrent: 'x', current_load: 'x' };
    return requireTypes(kit, '/api/agent/register', { ...usual, max_concurrent: 1, current_load: 0 }, wrong);
  },
  'heartbeat.path': async (kit) => {
    const { beat, late } = await kit.see(scenario.unregistered);
    requireObject(beat);
    requireThat(late.status !== beat.status, 'A heartbeat is the same for an agent that has gone.');
  },
  'heartbeat.unregistered': async (kit) => {
    requireObject((await kit.see(scenario.unregistered)).beat);
    const beat = await send(kit, '/api/agent/heartbeat', { agent_id: kit.name('unknown') });
    requireStatus(beat, 404, 'of an agent that never registered');
  },
  'report.path': async (kit) => {
    const { reported, done } = await kit.see(scenario.succeeded);
    requireThat(reported !== undefined, 'Nothing was reported.');
    requireObject(reported);
    requireEqual([done.status, done.progress], ['success', 100], 'The task after the report');
  },
  'report.no-agent-id': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const body = {
      request_id: fresh.request_id,
      status: 'success',
      progress: 100,
      result: {},
      error_info: null,
    };
    requireStatus(await send(kit, '/api/agent/result', body), 400, 'without `agent_id`');
  },
  'unregister.path': async (kit) => {
    const { left, late } = await kit.see(scenario.unregistered);
    requireObject(left);
    requireThat(late.status >= 400, `A heartbeat after it: ${late.status}; must be refused.`);
  },
  'unregister.ends': async (kit) => {
    const { late, task } = await kit.see(scenario.unregistered);
    requireStatus(late, 404, 'of an agent that has unregistered');
    requireEqual(task.agent_id, null, 'The agent of a task for it');
  },
  'agents.listing': async (kit) => {
    if (kit.adminAuth === undefined) throw new NotScored(WITHOUT_ADMIN);
    const { agent, listing } = await kit.see(scenario.listed);
    requireObject(listing);
    for (const word of [agent.agent_id, agent.tag, '"ready"'])
      requireThat(listing.text.includes(word), `The listing lacks ${word} of a registered agent.`);
  },
  'auth.body': (kit) => requirePlacement(kit, 'body'),
  'auth.query': (kit) => requirePlacement(kit, 'query'),
  'auth.both': async (kit) => {
    const submission = { auth: kit.auth, task_type: 'x', task_tags: [], payload: {}, timeout: 60 };
    const body = { ...submission, cli_session_id: kit.name('s') };
    const task = requireObject(await send(kit, '/api/cli/tasks', body, { auth: kit.auth }));
    requireEqual(task.status, 'pending', '`status` of a task with the secret in both');
  },
  'auth.admin': async (kit) => {
    if (kit.adminAuth === undefined) throw new NotScored(WITHOUT_ADMIN);
    const { listing } = await kit.see(scenario.listed);
    requireObject(listing);
    for (const secret of [undefined, `${kit.adminAuth}x`]) {
      const headers: Record<string, string> = secret === undefined ? {} : { 'x-admin-auth': secret };
      const { status } = await kit.subject.call('GET', '/api/admin/agents', { headers });
      requireThat(
        status >= 400 && status < 500,
        `The listing without the secret: ${status}; must be refused.`,
      );
    }
  },
  'auth.differs': async (kit) => {
    const wrong = kit.name('secret');
    for (const where of ['body', 'query'] as const)
      for (const answer of await callWith(kit, wrong, where))
        requireStatus(answer, 401, 'with a wrong secret');
  },
};
