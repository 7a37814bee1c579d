/** How a control plants a fault between the kit and a gateway: in requests, responses or streams. */
import type { Fields } from './findings.ts';
import type { Send, SentRequest } from './subject.ts';

type Plant = (send: Send) => Send;
type Answered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export const CONTROL_SECRETS = { gateway: 'a-gateway-secret-for-tests', admin: 'an-admin-secret-for-tests' };

const EVENTS = /^GET \/api\/cli\/events$/;
const TASKS = /^(POST \/api\/cli\/tasks|GET \/api\/cli\/tasks\/[^/]+)$/;

function callOf(url: string, { method }: SentRequest): string {
  return `${method} ${new URL(url).pathname}`;
}

/** Changes whole responses to some calls; `sent` is the body of the request. */
export function changeResponses(calls: RegExp, change: (answer: Answered, sent: string) => Answered): Plant {
  return (send) => async (url, init) => {
    const response = await send(url, init);
    const call = callOf(url, init);
    const isStream = EVENTS.test(call) && response.status === 200;
    if (!calls.test(call) || isStream) return response;
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
    answer.status < 300 ? { ...answer, body: JSON.stringify(change(JSON.parse(answer.body))) } : answer,
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
    if (!EVENTS.test(callOf(url, init)) || response.status !== 200) return response;
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
