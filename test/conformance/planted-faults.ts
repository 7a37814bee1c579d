/**
 * Plants one fault between the kit and a gateway: in requests and responses, in the frames of streams, in
 * pushes and the replies to them. A fault is a line such as `drop result of GET /api/cli/tasks/{request_id}
 * 200`; `wire-faults.ts` lists them.
 */
import { isFields } from './findings.ts';
import type { Push, TakePush } from './pushed-agents.ts';
import type { Send, SentRequest } from './subject.ts';

export type Planted = {
  /** Changes what the kit sends and gets. */
  readonly plant: (send: Send) => Send;
  /** Changes what the kit's agents get and reply. */
  readonly plantInPushes: (take: TakePush) => TakePush;
};

/** Changes a value of JSON; undefined leaves it out. */
type Change = (value: unknown) => unknown;
type NameCall = (method: string, path: string) => string;
export type Fault = { readonly verb: string; readonly what: string; readonly place: string };

export const CONTROL_SECRETS = {
  gateway: 'a-gateway-secret-for-tests',
  admin: 'an-admin-secret-for-tests',
  /** One secret of each form. */
  push: ['whsec_dGFzay1nYXRld2F5LWV4YW1wbGUtc2VjcmV0LTMyYg==', 'a-plain-secret-of-your-own'],
};
/** An origin that the gateways of the controls allow. */
export const CONTROL_ORIGIN = 'https://page.example';

const JSON_TYPE = /\bjson\b/;
const HEADER = /^header (.+)$/;

/** Plants a fault. `nameCall` says which operation a call is. */
export function plantFault(line: string, nameCall: NameCall): Planted {
  const fault = readFault(line);
  const { place } = fault;
  const [kind = '', ...rest] = place.split(' ');
  const call = rest.join(' ');
  const asSent: Planted = { plant: (send) => send, plantInPushes: (take) => take };
  if (kind === 'push') return { ...asSent, plantInPushes: (take) => changePush(fault, take) };
  if (kind === 'reply') return { ...asSent, plantInPushes: (take) => changeReply(fault, Number(call), take) };
  const isCall = (url: string, { method }: SentRequest): boolean =>
    nameCall(method, new URL(url).pathname) === call;
  if (kind === 'request') return { ...asSent, plant: (send) => changeRequests(fault, isCall, send) };
  if (kind === 'response') return { ...asSent, plant: (send) => repeatResponses(isCall, send) };
  const plant = (send: Send): Send =>
    kind === 'frames' ? changeFrames(fault, isCall, send) : changeResponses(fault, nameCall, send);
  return { ...asSent, plant };
}

/** Reads the line of a fault. A fault of a whole frame, push or response has no `what`. */
export function readFault(line: string): Fault {
  const [, verb = '', what = '', place = ''] = /^(\S+) (?:(.+) of )?(.+)$/.exec(line) ?? [];
  return { verb, what, place };
}

/** Returns another value of the same type. */
function changeValue(value: unknown): unknown {
  if (typeof value === 'string') return `${value}~`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return value.length > 1 ? [...value].reverse() : value.length === 1 ? [] : ['~'];
  return isFields(value) ? {} : '~';
}

const CHANGES: Readonly<Record<string, Change>> = {
  drop: () => undefined,
  change: changeValue,
  retype: (value) => (typeof value === 'string' ? 0 : value === null ? [] : JSON.stringify(value)),
};

/** Changes a field, such as `agents[].state` or `status "failed"`. Returns the same text if there is none. */
function changeField(text: string, { verb, what }: Fault): string {
  const [, path = '', literal] = /^(\S+)(?: (.+))?$/.exec(what) ?? [];
  const wanted: unknown = literal === undefined ? undefined : JSON.parse(literal);
  const change = CHANGES[verb] as Change;
  let isChanged = false;
  const walk = (value: unknown, [name = '', ...rest]: readonly string[]): unknown => {
    if (name === '[]') return Array.isArray(value) ? value.map((item) => walk(item, rest)) : value;
    if (!isFields(value) || !(name in value)) return value;
    if (rest.length > 0) return { ...value, [name]: walk(value[name], rest) };
    if (wanted !== undefined && value[name] !== wanted) return value;
    isChanged = true;
    return { ...value, [name]: change(value[name]) };
  };
  const changed = walk(parseJson(text), path.replaceAll('[]', '.[]').split('.'));
  return isChanged ? JSON.stringify(changed) : text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Headers = Readonly<Record<string, string>>;

/** Drops or changes a header, if there is one. */
function changeHeader(headers: Headers, name: string, verb: string): Headers {
  const { [name]: value, ...others } = headers;
  if (value === undefined || verb === 'drop') return others;
  return { ...others, [name]: /^\d+$/.test(value) ? String(Number(value) + 1) : `${value}~` };
}

function changeResponses({ verb, what, place }: Fault, nameCall: NameCall, send: Send): Send {
  const [, header] = HEADER.exec(what) ?? [];
  return async (url, init) => {
    const response = await send(url, init);
    const call = nameCall(init.method, new URL(url).pathname);
    const every = [`every ${response.status}`, ...(response.status >= 400 ? ['every problem'] : [])];
    if (![`${call} ${response.status}`, ...every].includes(place)) return response;
    const given = Object.fromEntries(response.headers);
    const headers = header === undefined ? given : changeHeader(given, header, verb);
    const status = verb === 'status' ? Number(what.replace('→ ', '')) : response.status;
    const isBare = init.method === 'HEAD' || response.body === null || [204, 304].includes(status);
    if (isBare || given['content-type']?.startsWith('text/event-stream'))
      return new Response(isBare ? null : response.body, { status, headers });
    const text = await response.text();
    const isField = header === undefined && verb !== 'status' && JSON_TYPE.test(given['content-type'] ?? '');
    const body = what === 'body' ? '{}' : isField ? changeField(text, { verb, what, place }) : text;
    return new Response(body, { status, headers });
  };
}

/** Gives all equal calls the response to the first of them. */
function repeatResponses(isCall: (url: string, init: SentRequest) => boolean, send: Send): Send {
  const known = new Map<string, Promise<Response>>();
  return async (url, init) => {
    if (!isCall(url, init)) return send(url, init);
    const key = `${url} ${init.body}`;
    const response = known.get(key) ?? send(url, init);
    known.set(key, response);
    return (await response).clone();
  };
}

function changeRequests(fault: Fault, isCall: (url: string, init: SentRequest) => boolean, send: Send): Send {
  const { verb, what } = fault;
  const [, header] = HEADER.exec(what) ?? [];
  const [, parameter] = /^parameter (.+)$/.exec(what) ?? [];
  return async (url, init) => {
    if (!isCall(url, init)) return send(url, init);
    if (header !== undefined)
      return send(url, { ...init, headers: changeHeader(init.headers, header, verb) });
    if (parameter !== undefined) {
      const without = new URL(url);
      without.searchParams.delete(parameter);
      return send(without.href, init);
    }
    return send(url, init.body === undefined ? init : { ...init, body: changeField(init.body, fault) });
  };
}

function changeFrames(fault: Fault, isCall: (url: string, init: SentRequest) => boolean, send: Send): Send {
  return async (url, init) => {
    const response = await send(url, init);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!isStream || !isCall(url, init)) return response;
    const change = startFrames(fault);
    let rest = '';
    const transform = new TransformStream<string, string>({
      transform(text, controller) {
        const frames = `${rest}${text}`.split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames)
          for (const one of change(frame, () => controller.terminate())) controller.enqueue(`${one}\n\n`);
      },
    });
    const body = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(transform)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { status: 200, headers: response.headers });
  };
}

/** Creates what changes each frame of a stream. Without a `what` it changes the frames with data. */
function startFrames(fault: Fault): (frame: string, end: () => void) => readonly string[] {
  const { verb, what } = fault;
  const [, line] = /^line (.+)$/.exec(what) ?? [];
  const [, field] = /^those with (.+)$/.exec(what) ?? [];
  let held: string | undefined;
  return (frame, end) => {
    if (line !== undefined) return [changeLine(frame, line, verb)].filter((text) => text !== '');
    const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
    if (data === undefined) return [frame];
    if (field !== undefined) return new RegExp(`"${field}":(?!null)`).test(data) ? [] : [frame];
    if (what !== '') return [frame.replace(data, () => changeField(data, fault))];
    const [before] = held === undefined ? [] : [held];
    switch (verb) {
      case 'drop':
        return [];
      case 'repeat':
        return [frame, frame];
      case 'split':
        return [frame.replace(',"', '\ndata: ,"')];
      case 'end':
        end();
        return [frame];
      case 'swap':
        held = before === undefined ? frame : undefined;
        return before === undefined ? [] : [frame, before];
      default:
        // Holds the frame until the next one comes.
        held = frame;
        return before === undefined ? [] : [before];
    }
  };
}

/** Drops, changes or adds the lines of a frame that begin so. */
function changeLine(frame: string, name: string, verb: string): string {
  if (verb === 'add') return frame.includes('data:') ? `${name}: task_done\n${frame}` : frame;
  const lines = frame.split('\n').map((text) => {
    if (!text.startsWith(`${name === 'comment' ? '' : name}:`)) return text;
    return verb === 'drop' ? '' : `${text}~`;
  });
  return lines.filter((text) => text !== '').join('\n');
}

function changePush(fault: Fault, take: TakePush): TakePush {
  const { verb, what } = fault;
  const [, header] = HEADER.exec(what) ?? [];
  const change = (push: Push): Push =>
    header === undefined
      ? { ...push, bytes: Buffer.from(changeField(push.bytes.toString(), fault)) }
      : { ...push, headers: changeHeader(push.headers, header, verb) };
  return async (push) => {
    if (what !== '') return take(change(push));
    if (verb === 'repeat') await take(push);
    return verb === 'drop' ? { status: 202 } : take(push);
  };
}

/** Changes the status or a header of the agent's replies with this status. */
function changeReply({ verb, what }: Fault, status: number, take: TakePush): TakePush {
  const [, header] = HEADER.exec(what) ?? [];
  return async (push) => {
    const reply = await take(push);
    if (reply === 'cut' || reply.status !== status) return reply;
    if (header !== undefined) return { status, headers: changeHeader(reply.headers ?? {}, header, verb) };
    return verb === 'cut' ? 'cut' : { ...reply, status: Number(what.replace('→ ', '')) };
  };
}
