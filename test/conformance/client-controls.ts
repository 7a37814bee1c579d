/**
 * The negative controls of the client's role: for each check a fault that it must find, planted in a client
 * that does all that is required. Which other checks notice it too is in `CONTROLS.md`.
 */
import { createEventParser } from './event-stream.ts';
import { type ClientAnswer, type ClientCall, type ClientPlant, isPassing } from './faultless-client.ts';
import type { Fields } from './findings.ts';

export type ClientControl = {
  /** What the client does. */
  readonly fault: string;
  readonly plant: ClientPlant;
  /** Whether the client polls, and opens no stream. */
  readonly isPolling?: boolean;
};

/** Changes the calls of an operation. */
function changeCalls(operation: string, change: (call: ClientCall) => ClientCall): ClientPlant {
  return ({ send }) => ({ send: (call) => send(call.operation === operation ? change(call) : call) });
}

function changeSubmission(change: (body: Fields) => Fields): ClientPlant {
  return changeCalls('submit', (call) => ({ ...call, body: change(call.body ?? {}) }));
}

const isCode = ({ body }: ClientAnswer, code: string): boolean => body.code === code;

/** Calls that get this are made again, or are not, against the document. */
function repeats(is: (answer: ClientAnswer, call: ClientCall) => boolean): ClientPlant {
  return () => ({ isAgain: (answer, call) => isPassing(answer) || is(answer, call) });
}
function gives(is: (answer: ClientAnswer, call: ClientCall) => boolean): ClientPlant {
  return () => ({ isAgain: (answer, call) => isPassing(answer) && !is(answer, call) });
}

/** Ends that have this text are successes for the client. */
function takesForSuccess(is: (error_info: string) => boolean): ClientPlant {
  return ({ finish }) => ({ finish: (end) => (is(String(end.error_info)) ? 0 : finish(end)) });
}

/** The controls, by the requirement whose check must find the fault. */
export const CLIENT_CONTROLS: Readonly<Record<string, ClientControl>> = {
  'as-client.submits': {
    fault: 'The payload is a text.',
    plant: changeSubmission((body) => ({ ...body, payload: JSON.stringify(body.payload) })),
  },
  'submit.keep-auth': {
    fault: 'A submission has the secret in its header alone.',
    plant: changeCalls('submit', ({ body: { auth, ...body } = {}, ...call }) => ({
      ...call,
      body,
      headers: { ...call.headers, authorization: `Bearer ${auth}` },
    })),
  },
  'as-client.secret': {
    fault: 'A cancellation has no secret.',
    plant: changeCalls('cancel', (call) => ({ ...call, headers: {} })),
  },
  'as-client.secret-placement': {
    fault: 'A submission has the secret in a header of its own, too.',
    plant: changeCalls('submit', (call) => ({
      ...call,
      headers: { ...call.headers, 'x-debug': String(call.body?.auth) },
    })),
  },
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
  'as-client.json': {
    fault: 'A cancellation is a form.',
    plant: ({ send, encode }) => ({
      send: (call) => send(call.operation === 'cancel' ? { ...call, body: { cancel: 1 } } : call),
      encode: (body) => ('cancel' in body ? Buffer.from('cancel=1') : encode(body)),
    }),
  },
  'body.no-mark': {
    fault: 'A submission begins with a byte-order mark.',
    plant: ({ encode }) => ({ encode: (body) => Buffer.concat([Buffer.from('\uFEFF'), encode(body)]) }),
  },
  'as-client.session': {
    fault: 'It subscribes to the session in capitals.',
    plant: () => ({ subscribed: (session) => session.toUpperCase() }),
  },
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
  'as-client.polls': { fault: 'It relies on its stream alone.', plant: () => ({ canPoll: false }) },
  'as-client.polls-again': {
    fault: 'It takes the first poll for the last.',
    isPolling: true,
    plant: () => ({ isTerminal: () => true }),
  },
  'as-client.result': {
    fault: 'It prints no result.',
    plant: () => ({ print: () => {} }),
  },
  'as-client.failed': {
    fault: 'It takes a failure with an agent’s text for a success.',
    plant: takesForSuccess((text) => text.startsWith('Division')),
  },
  'as-client.timed-out': {
    fault: 'It takes a timeout for a success.',
    plant: takesForSuccess((text) => text === 'timeout'),
  },
  'as-client.no-agent': {
    fault: 'It takes a task without an agent for a success.',
    plant: takesForSuccess((text) => text.includes('Agent')),
  },
  'as-client.opaque-id': {
    fault: 'It puts the id into the path as it is.',
    plant: changeCalls('get', (call) => ({ ...call, path: decodeURIComponent(call.path) })),
  },
  'as-client.key': {
    fault: 'Every task has the same `Idempotency-Key`.',
    plant: () => ({ newKey: () => 'my-task' }),
  },
  'as-client.one-task': {
    fault: 'Each attempt has an `Idempotency-Key` of its own.',
    plant: changeCalls('submit', (call) => ({
      ...call,
      headers: { ...call.headers, 'idempotency-key': crypto.randomUUID() },
    })),
  },
  'as-client.same-content': {
    fault: 'A repeat has what is left of the timeout.',
    plant: (parts) => {
      let timeout = 60;
      return changeSubmission((body) => ({ ...body, timeout: timeout-- }))(parts);
    },
  },
  'as-client.busy': {
    fault: 'It repeats a submission at once, whatever `Retry-After` says.',
    plant: ({ pauseMs }) => ({
      pauseMs: (answer) => (answer.status === 503 ? 0 : pauseMs(answer)),
    }),
  },
  'as-client.busy-stream': {
    fault: 'It subscribes again at once after a 429.',
    plant: ({ pauseMs }) => ({
      pauseMs: (answer) => (answer.status === 429 ? 0 : pauseMs(answer)),
    }),
  },
  'as-client.too-many': {
    fault: 'It gives up a poll that got 429.',
    plant: gives(({ status }, { operation }) => status === 429 && operation === 'get'),
  },
  'as-client.poll-pause': {
    fault: 'It polls again at once, without `wait`.',
    isPolling: true,
    plant: (parts) => ({
      ...changeCalls('get', (call) => ({ ...call, path: call.path.replace(/\?.*/, '') }))(parts),
      pollMs: 0,
    }),
  },
  'as-client.lost-response': {
    fault: 'It gives up when a submission gets no response.',
    plant: gives(({ status }, { operation }) => status === 0 && operation === 'submit'),
  },
  'as-client.store-unavailable': {
    fault: 'It gives up at 500.',
    plant: gives(({ status }) => status === 500),
  },
  'as-client.reads-again': {
    fault: 'It gives up when a poll gets no whole response.',
    plant: gives(({ status }, { operation }) => status === 0 && operation === 'get'),
  },
  'as-client.wait': {
    fault: '`wait` is a duration, such as 20s.',
    plant: changeCalls('get', (call) => ({ ...call, path: `${call.path}s` })),
  },
  'as-client.request-timeout': {
    fault: 'It gives up at 408.',
    plant: gives(({ status }) => status === 408),
  },
  'as-client.refused': {
    fault: 'It repeats a submission that is invalid.',
    plant: repeats((answer) => isCode(answer, 'validation_failed')),
  },
  'as-client.unauthorized': {
    fault: 'It repeats a submission whose secret is wrong.',
    plant: repeats((answer) => isCode(answer, 'unauthorized')),
  },
  'as-client.conflict': {
    fault: 'It repeats a submission whose key has other content.',
    plant: repeats((answer) => isCode(answer, 'idempotency_conflict')),
  },
  'as-client.drops': {
    fault: 'It asks again for a task that there is not.',
    plant: repeats((answer) => isCode(answer, 'task_not_found')),
  },
  'as-client.unknown-code': {
    fault: 'It gives up at a 503 with a code that it does not know.',
    plant: gives(({ body }) => body.code === 'moon_not_full'),
  },
  'as-client.large': {
    fault: 'It drops events of more than 64 KiB.',
    plant: ({ isTaskDone }) => ({
      isTaskDone: (event, data) => isTaskDone(event, data) && event.data.length < 65_536,
    }),
  },
  'as-client.unknown-values': {
    fault: 'A task with an outcome that it does not know is open.',
    plant: ({ isTerminal }) => ({
      isTerminal: (task, headers) =>
        isTerminal(task, headers) &&
        /^(success|failed|cancelled|timeout|no_agent)$/.test(headers.get('task-outcome') ?? ''),
    }),
  },
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
    plant: () => ({
      lastId: (id, bytes) => [...bytes.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? id,
    }),
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
  'as-client.resumes': {
    fault: 'It opens the stream again without `Last-Event-ID`.',
    plant: () => ({ lastId: () => '' }),
  },
  'as-client.repeats': {
    fault: 'It prints the result for each of its events.',
    plant: () => ({ printed: (events, ended) => (events.length > 0 ? events : [ended]) }),
  },
  'as-client.cut-event': {
    fault: 'It ends when its stream is cut.',
    plant: ({ fail }) => ({ onCut: fail }),
  },
  'as-client.outage': {
    fault: 'It ends when its stream can’t be opened.',
    plant: ({ fail }) => ({ onRefused: fail }),
  },
  'as-client.cancels': {
    fault: 'It cancels with a call that there is not.',
    plant: changeCalls('cancel', (call) => ({ ...call, path: call.path.replace('/cancel', '/abort') })),
  },
  'as-client.cancels-again': {
    fault: 'It gives up a cancellation that got 503.',
    plant: gives(({ status }, { operation }) => status === 503 && operation === 'cancel'),
  },
  'as-client.cancels-once': {
    fault: 'It repeats a cancellation of a task that has ended.',
    plant: repeats((answer) => isCode(answer, 'task_terminal')),
  },
};
