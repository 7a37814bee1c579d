/** How a control plants a fault between the kit and a gateway: in requests, responses or streams. */
import type { Fields } from './findings.ts';
import type { Push, PushReply, TakePush } from './pushed-agents.ts';
import type { Send, SentRequest } from './subject.ts';

type Plant = (send: Send) => Send;
type Answered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export const CONTROL_SECRETS = {
  gateway: 'a-gateway-secret-for-tests',
  admin: 'an-admin-secret-for-tests',
  /** One of each form. */
  push: ['whsec_dGFzay1nYXRld2F5LWV4YW1wbGUtc2VjcmV0LTMyYg==', 'a-plain-secret-of-your-own'],
};
/** An origin that the gateways of the controls allow. */
export const CONTROL_ORIGIN = 'https://page.example';

const TASKS = /^(POST \/api\/cli\/tasks|GET \/api\/cli\/tasks\/[^/]+)$/;

function callOf(url: string, { method }: SentRequest): string {
  return `${method} ${new URL(url).pathname}`;
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** What is refused with a status, and was sent with such a body, is taken. */
export function takeRefused(calls: RegExp, status: number, sent: RegExp = /(?:)/): Plant {
  return changeResponses(calls, (answer, body) =>
    answer.status === status && sent.test(body)
      ? { ...answer, status: 200, body: '{"request_id":"taken"}' }
      : answer,
  );
}

/** Responds to some requests itself, with a status and a problem's code. */
export function refuseRequests(
  which: (call: string, url: string, sent: SentRequest) => boolean,
  status: number,
  code: string,
): Plant {
  return (send) => (url, init) =>
    which(callOf(url, init), url, init)
      ? Promise.resolve(Response.json({ status, code }, { status }))
      : send(url, init);
}

/** Changes whole responses to some calls; `sent` is the body of the request. */
export function changeResponses(calls: RegExp, change: (answer: Answered, sent: string) => Answered): Plant {
  return (send) => async (url, init) => {
    const response = await send(url, init);
    const call = callOf(url, init);
    if (!calls.test(call) || isStream(response)) return response;
    const headers = Object.fromEntries(response.headers);
    const changed = change(
      { status: response.status, headers, body: await response.text() },
      init.body ?? '',
    );
    const isBare = init.method === 'HEAD' || [204, 304].includes(changed.status);
    return new Response(isBare ? null : changed.body, { status: changed.status, headers: changed.headers });
  };
}

/** Changes the JSON of successful responses to some calls. */
export function changeBodies(calls: RegExp, change: (body: Fields) => Fields): Plant {
  return changeResponses(calls, (answer) =>
    answer.status < 300 && answer.body !== ''
      ? { ...answer, body: JSON.stringify(change(JSON.parse(answer.body))) }
      : answer,
  );
}

/** Changes the code of the problems that some calls get. */
export function changeCode(calls: RegExp, from: string, to: string): Plant {
  return changeResponses(calls, (answer) => ({
    ...answer,
    body: answer.body.replace(`"code":"${from}"`, `"code":"${to}"`),
  }));
}

/** Changes one header of the responses to some calls. An absent one is empty; an empty one is left out. */
export function changeHeaders(calls: RegExp, name: string, change: (value: string) => string): Plant {
  return changeResponses(calls, (answer) => {
    const { [name]: value = '', ...headers } = answer.headers;
    const changed = change(value);
    return { ...answer, headers: changed === '' ? headers : { ...headers, [name]: changed } };
  });
}

/** Changes the JSON objects that some calls send. */
export function changeRequests(calls: RegExp, change: (body: Fields) => Fields): Plant {
  return (send) => (url, init) => {
    if (!calls.test(callOf(url, init)) || !init.body?.startsWith('{"')) return send(url, init);
    return send(url, { ...init, body: JSON.stringify(change(JSON.parse(init.body))) });
  };
}

/** Changes pushes on their way to the kit's agents. */
function changePushes(change: (push: Push) => Push): (take: TakePush) => TakePush {
  return (take) => (push) => take(change(push));
}

/** Changes one header of each push; an empty one is left out. */
export function changePushHeader(name: string, change: (value: string) => string) {
  return changePushes((push) => {
    const { [name]: value = '', ...headers } = push.headers;
    const changed = change(value);
    return { ...push, headers: changed === '' ? headers : { ...headers, [name]: changed } };
  });
}

type Reply = Exclude<PushReply, 'cut'>;

/** Changes what the gateway gets for a push that gets one of these statuses. */
export function changePushReplies(
  statuses: readonly number[],
  change: (reply: Reply) => PushReply,
): (take: TakePush) => TakePush {
  return (take) => async (push) => {
    const reply = await take(push);
    return reply !== 'cut' && statuses.includes(reply.status) ? change(reply) : reply;
  };
}

/** Some calls do not reach the gateway: they get 200 and this. */
export function answerCalls(calls: RegExp, body: Fields): Plant {
  return (send) => (url, init) =>
    calls.test(callOf(url, init)) ? Promise.resolve(Response.json(body)) : send(url, init);
}

/** Changes the status of the responses to some calls. */
export function changeStatus(calls: RegExp, from: number, to: number): Plant {
  return changeResponses(calls, (answer) => (answer.status === from ? { ...answer, status: to } : answer));
}

/** Changes tasks wherever a response is one. */
export function changeTasks(change: (task: Fields) => Fields): Plant {
  return changeBodies(TASKS, change);
}

/** Changes events; a list is sent one after the other. */
export function changeEvents(change: (event: Fields) => Fields | readonly Fields[]): Plant {
  return changeLines((line) => {
    if (!line.startsWith('data: ')) return line;
    const events = [change(JSON.parse(line.slice('data: '.length)))].flat();
    return events.map((event) => `data: ${JSON.stringify(event)}`).join('\n\n');
  });
}

/** Changes tasks and events alike. */
export function changeOutcomes(change: (one: Fields) => Fields): Plant {
  return (send) => changeEvents(change)(changeTasks(change)(send));
}

/** Sends the JSON of each event as two lines of data. */
export const splitData: Plant = changeLines((line) =>
  line.startsWith('data: ') ? line.replace(',"', '\ndata: ,"') : line,
);

/** Sends each event under a type of its own. */
export const nameEvents: Plant = changeLines((line) =>
  line.startsWith('data: ') ? `event: task_done\n${line}` : line,
);

/** Changes the lines of streams. */
function changeLines(change: (line: string) => string): Plant {
  return changeStreams(() => {
    let rest = '';
    return (text) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      return lines.map((line) => `${change(line)}\n`).join('');
    };
  });
}

/** `start` is called for each stream, and returns what changes its characters. */
function changeStreams(start: () => (text: string, end: () => void) => string): Plant {
  return (send) => async (url, init) => {
    const response = await send(url, init);
    if (!isStream(response)) return response;
    const change = start();
    const transform = new TransformStream<string, string>({
      transform: (text, controller) => controller.enqueue(change(text, () => controller.terminate())),
    });
    const body = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(transform)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { status: 200, headers: response.headers });
  };
}

/** Ends each stream this long after its first event. */
export function endStreams(afterMs: number): Plant {
  return changeStreams(() => (text, end) => {
    if (text.includes('data:')) setTimeout(end, afterMs);
    return text;
  });
}

/** Leaves out of each stream the events of tasks that were known to have ended before it was opened. */
export const forgetReplays: Plant = (send) => {
  const ended = new Set<unknown>();
  const noted = changeTasks((task) => {
    if (task.status === 'success' || task.status === 'failed') ended.add(task.request_id);
    return task;
  })(send);
  return (url, init) => {
    const before = new Set(ended);
    return changeEvents((event) => (before.has(event.request_id) ? [] : event))(noted)(url, init);
  };
};

/** Swaps the ids of the first two tasks that wait for the same tags, wherever they are sent. */
export const swapWaiting: Plant = (send) => {
  const waiting = new Map<string, string[]>();
  const swap = (text: string): string =>
    [...waiting.values()].reduce((swapped, [first = '', second = '']) => {
      if (second === '') return swapped;
      return swapped.replaceAll(RegExp(`${first}|${second}`, 'g'), (id) => (id === first ? second : first));
    }, text);
  return async (url, init) => {
    const body = init.body === undefined ? {} : { body: swap(init.body) };
    const response = await send(swap(url), { ...init, ...body });
    const sent = init.body?.startsWith('{"') ? JSON.parse(init.body) : {};
    if (sent.queue_timeout === undefined) return response;
    const tags = String(sent.task_tags);
    waiting.set(tags, [...(waiting.get(tags) ?? []), (await response.clone().json()).request_id]);
    return response;
  };
};

/** Adds the right secret where a request has none, so that the gateway seems to need none. */
export function addToRequests(where: 'body' | 'query' | 'header'): Plant {
  return (send) => (url, init) => {
    const call = callOf(url, init);
    if (where === 'header') {
      const headers = { ...init.headers, 'x-admin-auth': CONTROL_SECRETS.admin };
      return send(url, call.startsWith('GET /api/admin/') ? { ...init, headers } : init);
    }
    const isBody = /^POST \/api\/(cli\/tasks|agent\/register)$/.test(call);
    if (where === 'body') {
      if (!isBody || init.body === undefined) return send(url, init);
      return send(url, {
        ...init,
        body: JSON.stringify({ auth: CONTROL_SECRETS.gateway, ...JSON.parse(init.body) }),
      });
    }
    const added = new URL(url);
    if (added.pathname.startsWith('/api/cli/') && !isBody && !added.searchParams.has('auth'))
      added.searchParams.set('auth', CONTROL_SECRETS.gateway);
    return send(added.href, init);
  };
}
