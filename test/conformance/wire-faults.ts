/**
 * How the parties of the controls call their gateway, and faults on that wire as data: what is sent
 * otherwise, is lost, or is read otherwise.
 */
import { type Fields, isFields } from './findings.ts';

export type PartyCall = {
  readonly operation: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Fields;
  /** What is sent in place of the body as JSON. */
  readonly text?: string;
};
/** What a call gets; a status of 0 says that there was no response. */
export type PartyAnswer = {
  readonly status: number;
  readonly body: Fields;
  readonly headers: Headers;
  readonly stream?: ReadableStream<Uint8Array>;
};
export type SendCall = (call: PartyCall) => Promise<PartyAnswer>;

/** The parts of a party that stand at the wire. */
export type WireParts = { readonly send: SendCall; readonly end: () => void };

export type WireFault = {
  /** The operation whose calls it changes; without it, all. */
  readonly on?: string;
  /** Only calls whose response has this status, or this text as its code, its `error_info` or its outcome. */
  readonly got?: number | string | false;
  /** The calls are not made, and seem to succeed. */
  readonly isDropped?: true;
  /** Fields of the body, and headers, that are sent otherwise; undefined leaves one out. */
  readonly sends?: Fields;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Any other change of the call. */
  readonly change?: (call: PartyCall) => PartyCall;
  /** The status and the fields of the response that the party reads. */
  readonly sees?: number;
  readonly reads?: Fields;
  /** It reads no `Retry-After`. */
  readonly isHurried?: true;
  /** It gets no response and waits, or it ends itself. */
  readonly after?: 'hangs' | 'ends';
};

const NO_ANSWER: PartyAnswer = { status: 0, body: {}, headers: new Headers() };

/** Returns what makes calls of a gateway until the signal fires. */
export function createSendCall(url: string | undefined, signal: AbortSignal): SendCall {
  return async ({ method, path, headers, body, text = body && JSON.stringify(body) }) => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...headers, ...(text !== undefined && { 'content-type': 'application/json' }) },
        redirect: 'manual',
        signal,
        ...(text !== undefined && { body: text }),
      });
      const { status, headers: got } = response;
      const isStream = got.get('content-type')?.startsWith('text/event-stream');
      if (isStream && response.body) return { status, headers: got, body: {}, stream: response.body };
      const read = await response.text();
      const value: unknown = read === '' ? {} : JSON.parse(read);
      return { status, headers: got, body: isFields(value) ? value : {} };
    } catch {
      return NO_ANSWER;
    }
  };
}

/** Plants a fault on the wire of a party. */
export function onWire(fault: WireFault): (parts: WireParts) => { readonly send: SendCall } {
  const { on, got, isDropped, sends, headers, change = (call) => call, sees, reads, isHurried } = fault;
  return ({ send, end }) => ({
    async send(call) {
      if (on !== undefined && call.operation !== on) return send(call);
      if (isDropped) return { ...NO_ANSWER, status: 200 };
      const answer = await send(
        change({
          ...call,
          headers: leaveOut({ ...call.headers, ...headers }) as Record<string, string>,
          ...(call.body && { body: leaveOut({ ...call.body, ...sends }) }),
        }),
      );
      if (got !== undefined && !isGot(answer, got)) return answer;
      if (fault.after === 'hangs') return new Promise(() => {});
      if (fault.after === 'ends') end();
      const { code, ...body } = answer.body;
      const kept = [...answer.headers].filter(([name]) => !isHurried || name !== 'retry-after');
      return {
        ...answer,
        status: sees ?? answer.status,
        headers: new Headers(kept),
        body: { ...body, ...(sees === undefined && { code }), ...reads },
      };
    },
  });
}

/** A control of a party: a fault on its wire, in words and as data. */
export function plantOnWire(fault: string, planted: WireFault) {
  return { fault, plant: onWire(planted) };
}

function isGot({ status, body, headers }: PartyAnswer, got: number | string | false): boolean {
  const { code, error_info, accepted } = body;
  return [status, code, error_info, accepted, headers.get('task-outcome')].includes(got);
}

function leaveOut(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
