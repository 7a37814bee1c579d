/** The check of responses: a right one passes, and each thing that can be wrong with one is reported. */
import { describe, expect, test } from 'vitest';
import { createDocumentCheck, type ReceivedResponse } from './document-check.ts';

const check = createDocumentCheck();

const TASK = {
  request_id: 'task-1',
  task_type: 't',
  task_tags: ['a'],
  payload: { any: 'thing' },
  status: 'success',
  agent_id: 'a',
  cli_session_id: '',
  create_time: 1_700_000_000.1,
  timeout: 600,
  progress: 100,
  result: { output: 'x', more: 1 },
  error_info: null,
};

const EVENT = { event: 'task_done', request_id: 'r', status: 'failed', result: null, error_info: 'timeout' };

function buildAnswer(
  more: Partial<ReceivedResponse> & { body?: unknown; without?: string } = {},
): ReceivedResponse {
  const headers = new Headers({
    'content-type': 'application/json',
    'task-gateway-version': '1.0.0',
    ...Object.fromEntries(more.headers ?? []),
  });
  if (more.without) headers.delete(more.without);
  const text = JSON.stringify(more.body ?? TASK);
  return { method: 'GET', path: '/api/cli/tasks/task-1?wait=1', status: 200, text, ...more, headers };
}

function buildStream(text: string): ReceivedResponse {
  const headers = new Headers({ 'content-type': 'text/event-stream' });
  return buildAnswer({ path: '/api/cli/events', headers, text });
}

describe('the check of responses against the document', () => {
  test('it passes a right response, problem and stream', () => {
    expect(check.findDeviations(buildAnswer())).toEqual([]);
    const problem = {
      type: 'urn:task-gateway:problem:task_not_found',
      title: 'Task not found',
      status: 404,
      detail: 'There is no such task.',
      code: 'task_not_found',
    };
    const headers = new Headers({ 'content-type': 'application/problem+json' });
    expect(check.findDeviations(buildAnswer({ status: 404, headers, body: problem }))).toEqual([]);
    const frames = `retry: 2000\n\n: ready\n\nid: 1-0\ndata: ${JSON.stringify(EVENT)}\n\n: pi`;
    expect(check.findDeviations(buildStream(frames))).toEqual([]);
    const empty = buildAnswer({
      method: 'POST',
      path: '/api/agent/claim',
      status: 204,
      text: '',
      without: 'content-type',
    });
    expect(check.findDeviations(empty)).toEqual([]);
  });

  const wrong: readonly [string, ReceivedResponse, string][] = [
    ['a method without an operation', buildAnswer({ method: 'PUT' }), 'is no operation'],
    ['an undocumented status', buildAnswer({ status: 201 }), 'the status is not documented'],
    [
      'an undocumented media type',
      buildAnswer({ headers: new Headers({ 'content-type': 'text/html' }) }),
      'the media type text/html',
    ],
    ['a missing header', buildAnswer({ without: 'task-gateway-version' }), 'Task-Gateway-Version is missing'],
    [
      'an undocumented header',
      buildAnswer({ headers: new Headers({ 'x-more': '1' }) }),
      'the header x-more is not documented',
    ],
    ['a body that is not JSON', buildAnswer({ text: '{' }), 'the body is not JSON'],
    ['a field of a wrong type', buildAnswer({ body: { ...TASK, progress: '100' } }), 'broken at "/progress"'],
    [
      'a missing field',
      buildAnswer({ body: { ...TASK, error_info: undefined } }),
      "required property 'error_info'",
    ],
    ['an undescribed field', buildAnswer({ body: { ...TASK, queue_timeout: 1 } }), '"queue_timeout"'],
    [
      'a problem of another status',
      buildAnswer({
        status: 404,
        headers: new Headers({ 'content-type': 'application/problem+json' }),
        body: TASK,
      }),
      'the body is broken',
    ],
    [
      'a code that is documented for other operations alone',
      buildAnswer({
        status: 404,
        headers: new Headers({ 'content-type': 'application/problem+json' }),
        body: { type: 'x', title: 'x', status: 404, detail: 'x', code: 'agent_not_found' },
      }),
      'the body is broken at "/code"',
    ],
    [
      'a body where none belongs',
      buildAnswer({ method: 'POST', path: '/api/agent/claim', status: 204 }),
      'there is a body',
    ],
    [
      'an event with an event line',
      buildStream(`event: task_done\nid: 1-0\ndata: ${JSON.stringify(EVENT)}\n\n`),
      'another form',
    ],
    ['an event without an id', buildStream(`data: ${JSON.stringify(EVENT)}\n\n`), 'another form'],
  ];

  test.each(wrong)('it finds %s', (_what, response, deviation) => {
    expect(check.findDeviations(response).join('\n')).toContain(deviation);
  });

  test('it finds a wrong number in a header', () => {
    const headers = new Headers({ 'content-type': 'application/problem+json', 'retry-after': 'soon' });
    const body = { type: 'x', title: 'x', status: 503, detail: 'x', code: 'store_unavailable' };
    const deviations = check.findDeviations(buildAnswer({ status: 503, headers, body }));
    expect(deviations).toEqual(['getTask 503: the header Retry-After is broken: soon']);
  });

  test('it knows every response of the document', () => {
    const statuses = (operation: string): readonly number[] =>
      check.documented.flatMap(({ operationId, status }) => (operationId === operation ? [status] : []));
    expect(statuses('subscribeEvents')).toEqual([200, 401, 403, 421, 422, 429, 500, 503]);
    expect(statuses('cancelTask')).toEqual([200, 400, 401, 403, 404, 421, 500, 503]);
    expect(new Set(check.documented.map(({ operationId }) => operationId)).size).toBe(21);
  });
});
