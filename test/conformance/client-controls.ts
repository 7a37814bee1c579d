/**
 * The negative controls of the client's role. Each is a fault that a check must find, planted in a client
 * that does all that is required, or on its wire. `CONTROLS.md` says which other checks notice it too.
 */
import { createEventParser } from './event-stream.ts';
import type { ClientPlant } from './faultless-client.ts';
import type { Fields } from './findings.ts';
import * as wire from './party-wire.ts';
import { changes, drops, ends, hurries, type PartyCall, sees, sends } from './party-wire.ts';

export type ClientControl = {
  /** What the client does wrong. */
  readonly fault: string;
  readonly plant: ClientPlant;
  /** Whether the client polls and opens no stream. */
  readonly isPolling?: boolean;
};

/** Makes a polling client read fields wrongly, in all tasks or in those that match `got`. */
function reads(fields: Fields, fault: string, got?: string): ClientControl {
  return { isPolling: true, ...wire.reads('get', fields, fault, got) };
}

/** Changes the path of calls, or one of their headers. */
function changesPath(on: string, change: (path: string) => string, fault: string): ClientControl {
  return changes(on, (call) => ({ ...call, path: change(call.path) }), fault);
}
function changesHeader(
  on: string,
  name: string,
  fault: string,
  value = (_call: PartyCall) => '',
): ClientControl {
  return changes(on, (call) => ({ ...call, headers: { ...call.headers, [name]: value(call) } }), fault);
}

/** Continues behind the last id of which it has read a line. */
const continueBehindHalf: ClientPlant = () => ({
  lastId: (id, bytes) => [...bytes.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? id,
});

const SUCCESS = { status: 'success' };
const KEY = 'idempotency-key';
const newKey = (): string => crypto.randomUUID();

/** The controls, by the requirement whose check must find the fault. */
export const CLIENT_CONTROLS: Readonly<Record<string, ClientControl>> = {
  'as-client.submits': sends('submit', { payload: '{}' }, 'The payload is a text.'),
  'submit.keep-auth': sends(
    'submit',
    { auth: undefined },
    'A submission has the secret in its header alone.',
  ),
  'as-client.secret': changesHeader('cancel', 'authorization', 'A cancellation has no secret.'),
  'as-client.secret-placement': changesHeader(
    'submit',
    'x-debug',
    'A submission has the secret in a header of its own, too.',
    ({ body }) => String(body?.auth),
  ),
  'as-client.secret-stays': {
    fault: 'It follows a redirection, with its headers.',
    plant: ({ send }) => ({
      async send(call) {
        const answer = await send(call);
        const address = answer.headers.get('location');
        if (address) await fetch(address, { headers: call.headers }).catch(() => {});
        return answer;
      },
    }),
  },
  'as-client.json': changes('cancel', wire.asForm, 'A cancellation is a form.'),
  'body.no-mark': changes('submit', wire.withMark, 'A submission begins with a byte-order mark.'),
  'as-client.session': changesPath('events', (path) => `${path}-1`, 'It subscribes to another session.'),
  'events.subscribe-first': {
    fault: 'It subscribes after the submission.',
    plant: () => ({ isEarly: false }),
  },
  'as-client.early-event': {
    fault: 'It forgets an event that comes before the response to the submission.',
    plant: () => ({ keepsEarly: false }),
  },
  'event.done': {
    fault: 'It takes any event of its session for the end of its task.',
    plant: () => ({ isOwn: () => true }),
  },
  'as-client.polls': drops('get', 'It relies on its stream alone.'),
  'as-client.polls-again': reads(SUCCESS, 'It takes the first poll for the last.'),
  'as-client.result': reads({ result: {} }, 'It prints no result.'),
  'as-client.failed': reads(SUCCESS, 'It takes a failure for a success.', 'Division by zero: 除以零'),
  'as-client.timed-out': reads(SUCCESS, 'It takes a timeout for a success.', 'timeout'),
  'as-client.no-agent': reads(SUCCESS, 'It takes a task without an agent for a success.', '无可用 Agent'),
  'as-client.opaque-id': changesPath('get', decodeURIComponent, 'It puts the id into the path as it is.'),
  'as-client.key': changesHeader(
    'submit',
    KEY,
    'Every task has the same `Idempotency-Key`.',
    () => 'my-task',
  ),
  'as-client.one-task': changesHeader(
    'submit',
    KEY,
    'Each attempt has an `Idempotency-Key` of its own.',
    newKey,
  ),
  'as-client.same-content': {
    fault: 'A repeat has what is left of the timeout.',
    plant: (parts) => {
      let timeout = 60;
      const change = (call: PartyCall) => ({ ...call, body: { ...call.body, timeout: timeout-- } });
      return changes('submit', change, '').plant(parts);
    },
  },
  'as-client.busy': hurries('', 503, 'It repeats a call at once, whatever `Retry-After` says.'),
  'as-client.busy-stream': hurries('', 429, 'It subscribes again at once after a 429.'),
  'as-client.too-many': sees(400, 'get', 429, 'It gives up a poll that got 429.'),
  'as-client.poll-pause': {
    isPolling: true,
    fault: 'It polls again at once, without `wait`.',
    plant: (parts) => ({
      ...changesPath('get', (path) => path.replace(/\?.*/, ''), '').plant(parts),
      pollMs: 0,
    }),
  },
  'as-client.lost-response': sees(400, 'submit', 0, 'It gives up when a submission gets no response.'),
  'as-client.store-unavailable': sees(400, '', 500, 'It gives up at 500.'),
  'as-client.reads-again': sees(400, 'get', 0, 'It gives up when a poll gets no whole response.'),
  'as-client.wait': changesPath('get', (path) => `${path}s`, '`wait` is a duration, such as 20s.'),
  'as-client.request-timeout': sees(400, '', 408, 'It gives up at 408.'),
  'as-client.refused': sees(500, 'submit', 422, 'It repeats a submission that is invalid.'),
  'as-client.unauthorized': sees(500, '', 401, 'It repeats a call whose secret is wrong.'),
  'as-client.conflict': sees(500, 'submit', 422, 'It repeats a submission whose key has other content.'),
  'as-client.drops': sees(500, 'get', 404, 'It asks again for a task that there is not.'),
  'as-client.unknown-code': sees(
    400,
    '',
    'moon_not_full',
    'It gives up at a 503 with a code that it does not know.',
  ),
  'as-client.large': {
    fault: 'It drops events of more than 64 KiB.',
    plant: ({ isTaskDone }) => ({
      isTaskDone: (event, data) => isTaskDone(event, data) && event.data.length < 65_536,
    }),
  },
  'as-client.unknown-values': reads(
    { status: 'running' },
    'A task with an outcome that it does not know is open.',
    'success_at_second_try',
  ),
  'as-client.pieces': {
    fault: 'It decodes each piece of the stream for itself.',
    plant: () => ({
      newReader() {
        const take = createEventParser();
        return (bytes) => take(new TextDecoder().decode(bytes));
      },
    }),
  },
  'as-client.frames': {
    fault: 'It continues behind an event of which it has half.',
    plant: continueBehindHalf,
  },
  'as-client.event-types': {
    fault: 'It takes an event of any type for the end.',
    plant: () => ({ isTaskDone: (_event, data) => 'request_id' in data }),
  },
  'as-client.comments': {
    fault: 'It reads a comment as data.',
    plant: () => ({
      newReader() {
        const decoder = new TextDecoder();
        const take = createEventParser();
        return (bytes) =>
          take(decoder.decode(bytes, { stream: true }).replaceAll(/^: ?(?=ping|data)/gm, 'data: '));
      },
    }),
  },
  'as-client.gap': {
    fault: 'It ignores that events were deleted.',
    plant: () => ({ minds: () => false }),
  },
  'as-client.resumes': changesHeader(
    '',
    'last-event-id',
    'It opens the stream again without `Last-Event-ID`.',
  ),
  'as-client.repeats': {
    fault: 'It prints the result for each of its events.',
    plant: () => ({ printed: (events, ended) => (events.length > 0 ? events : [ended]) }),
  },
  'as-client.cut-event': {
    fault: 'It ends when its stream is cut.',
    plant: ({ end }) => ({ onCut: end }),
  },
  'as-client.output-resumes': {
    fault: 'It continues behind a piece of which it has half.',
    plant: continueBehindHalf,
  },
  'as-client.output-once': {
    fault: 'It shows a piece that comes again.',
    plant: () => ({ isNew: () => true }),
  },
  'as-client.output-end': {
    fault: 'It ends when the stream of the output is cut.',
    plant: ({ end }) => ({ onCut: end }),
  },
  'as-client.output-answers-again': sees(
    200,
    'answer',
    0,
    'It takes a lost response to an answer for a good one.',
  ),
  'as-client.output-answers-once': sees(500, 'answer', 422, 'It repeats an answer that was refused.'),
  'as-client.outage': ends('events', 0, 'It ends when its stream can’t be opened.'),
  'as-client.cancels': changesPath(
    'cancel',
    (path) => `${path}s`,
    'It cancels with a call that there is not.',
  ),
  'as-client.cancels-again': sees(400, 'cancel', 503, 'It gives up a cancellation that got 503.'),
  'as-client.cancels-once': sees(500, 'cancel', 400, 'It repeats a cancellation of a task that has ended.'),
};
