/**
 * The negative controls of the client's role: for each check a fault that it must find, planted in a client
 * that does all that is required, or on its wire. Which other checks notice it too is in `CONTROLS.md`.
 */
import { createEventParser } from './event-stream.ts';
import type { ClientPlant } from './faultless-client.ts';
import { onWire, type PartyCall, type WireFault, plantOnWire as wire } from './wire-faults.ts';

export type ClientControl = {
  /** What the client does. */
  readonly fault: string;
  readonly plant: ClientPlant;
  /** Whether the client polls, and opens no stream. */
  readonly isPolling?: boolean;
};

/** The same for a client that polls. */
function wirePolling(fault: string, planted: WireFault): ClientControl {
  return { isPolling: true, ...wire(fault, planted) };
}

/** Changes the path of a call. */
function changePath(change: (path: string) => string): (call: PartyCall) => PartyCall {
  return (call) => ({ ...call, path: change(call.path) });
}

/** It continues behind the last id of which it has read a line. */
const continueBehindHalf: ClientPlant = () => ({
  lastId: (id, bytes) => [...bytes.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? id,
});

/** The controls, by the requirement whose check must find the fault. */
export const CLIENT_CONTROLS: Readonly<Record<string, ClientControl>> = {
  'as-client.submits': wire('The payload is a text.', { on: 'submit', sends: { payload: '{}' } }),
  'submit.keep-auth': wire('A submission has the secret in its header alone.', {
    on: 'submit',
    sends: { auth: undefined },
  }),
  'as-client.secret': wire('A cancellation has no secret.', {
    on: 'cancel',
    headers: { authorization: undefined },
  }),
  'as-client.secret-placement': wire('A submission has the secret in a header of its own, too.', {
    on: 'submit',
    change: (call) => ({ ...call, headers: { ...call.headers, 'x-debug': String(call.body?.auth) } }),
  }),
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
  'as-client.json': wire('A cancellation is a form.', {
    on: 'cancel',
    change: (call) => ({ ...call, text: 'cancel=1' }),
  }),
  'body.no-mark': wire('A submission begins with a byte-order mark.', {
    on: 'submit',
    change: (call) => ({ ...call, text: `\uFEFF${JSON.stringify(call.body)}` }),
  }),
  'as-client.session': wire('It subscribes to another session than it submits for.', {
    on: 'events',
    change: changePath((path) => `${path}-1`),
  }),
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
  'as-client.polls': wire('It relies on its stream alone.', { on: 'get', isDropped: true }),
  'as-client.polls-again': wirePolling('It takes the first poll for the last.', {
    on: 'get',
    reads: { status: 'success' },
  }),
  'as-client.result': wirePolling('It prints no result.', { on: 'get', reads: { result: {} } }),
  'as-client.failed': wirePolling('It takes a failure with an agent’s text for a success.', {
    got: 'Division by zero: 除以零',
    reads: { status: 'success' },
  }),
  'as-client.timed-out': wirePolling('It takes a timeout for a success.', {
    on: 'get',
    got: 'timeout',
    reads: { status: 'success' },
  }),
  'as-client.no-agent': wirePolling('It takes a task without an agent for a success.', {
    got: '无可用 Agent',
    reads: { status: 'success' },
  }),
  'as-client.opaque-id': wire('It puts the id into the path as it is.', {
    on: 'get',
    change: changePath(decodeURIComponent),
  }),
  'as-client.key': wire('Every task has the same `Idempotency-Key`.', {
    on: 'submit',
    headers: { 'idempotency-key': 'my-task' },
  }),
  'as-client.one-task': wire('Each attempt has an `Idempotency-Key` of its own.', {
    on: 'submit',
    change: (call) => ({ ...call, headers: { ...call.headers, 'idempotency-key': crypto.randomUUID() } }),
  }),
  'as-client.same-content': {
    fault: 'A repeat has what is left of the timeout.',
    plant: (parts) => {
      let timeout = 60;
      const change = (call: PartyCall) => ({ ...call, body: { ...call.body, timeout: timeout-- } });
      return onWire({ on: 'submit', change })(parts);
    },
  },
  'as-client.busy': wire('It repeats a call at once, whatever `Retry-After` says.', {
    got: 503,
    isHurried: true,
  }),
  'as-client.busy-stream': wire('It subscribes again at once after a 429.', { got: 429, isHurried: true }),
  'as-client.too-many': wire('It gives up a poll that got 429.', { on: 'get', got: 429, sees: 400 }),
  'as-client.poll-pause': {
    fault: 'It polls again at once, without `wait`.',
    isPolling: true,
    plant: (parts) => ({
      ...onWire({ on: 'get', change: changePath((path) => path.replace(/\?.*/, '')) })(parts),
      pollMs: 0,
    }),
  },
  'as-client.lost-response': wire('It gives up when a submission gets no response.', {
    on: 'submit',
    got: 0,
    sees: 400,
  }),
  'as-client.store-unavailable': wire('It gives up at 500.', { got: 500, sees: 400 }),
  'as-client.reads-again': wire('It gives up when a poll gets no whole response.', {
    on: 'get',
    got: 0,
    sees: 400,
  }),
  'as-client.wait': wire('`wait` is a duration, such as 20s.', {
    on: 'get',
    change: changePath((path) => `${path}s`),
  }),
  'as-client.request-timeout': wire('It gives up at 408.', { got: 408, sees: 400 }),
  'as-client.refused': wire('It repeats a submission that is invalid.', {
    got: 'validation_failed',
    sees: 500,
  }),
  'as-client.unauthorized': wire('It repeats a call whose secret is wrong.', { got: 401, sees: 500 }),
  'as-client.conflict': wire('It repeats a submission whose key has other content.', {
    got: 'idempotency_conflict',
    sees: 500,
  }),
  'as-client.drops': wire('It asks again for a task that there is not.', {
    got: 'task_not_found',
    sees: 500,
  }),
  'as-client.unknown-code': wire('It gives up at a 503 with a code that it does not know.', {
    got: 'moon_not_full',
    sees: 400,
  }),
  'as-client.large': {
    fault: 'It drops events of more than 64 KiB.',
    plant: ({ isTaskDone }) => ({
      isTaskDone: (event, data) => isTaskDone(event, data) && event.data.length < 65_536,
    }),
  },
  'as-client.unknown-values': wire('A task with an outcome that it does not know is open.', {
    got: 'success_at_second_try',
    reads: { status: 'running' },
  }),
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
  'as-client.resumes': wire('It opens the stream again without `Last-Event-ID`.', {
    headers: { 'last-event-id': undefined },
  }),
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
  'as-client.answers-again': wire('It takes a lost response to an answer for a good one.', {
    on: 'answer',
    got: 0,
    sees: 200,
  }),
  'as-client.answers-once': wire('It repeats an answer that was refused.', {
    on: 'answer',
    got: 422,
    sees: 500,
  }),
  'as-client.outage': wire('It ends when its stream can’t be opened.', {
    on: 'events',
    got: 0,
    after: 'ends',
  }),
  'as-client.cancels': wire('It cancels with a call that there is not.', {
    on: 'cancel',
    change: changePath((path) => path.replace('/cancel', '/abort')),
  }),
  'as-client.cancels-again': wire('It gives up a cancellation that got 503.', {
    on: 'cancel',
    got: 503,
    sees: 400,
  }),
  'as-client.cancels-once': wire('It repeats a cancellation of a task that has ended.', {
    got: 'task_terminal',
    sees: 500,
  }),
};
