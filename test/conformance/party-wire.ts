/**
 * How the parties of the controls call their gateway. A fault on that wire is data: what is sent wrongly, is
 * lost, or is read wrongly.
 */
import { type Fields, isFields } from './findings.ts';

export type PartyCall = {
  readonly operation: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Fields;
  /** Sent in place of the body as JSON. */
  readonly text?: string;
};
/** What a call gets. A status of 0 means that there was no response. */
export type PartyAnswer = {
  readonly status: number;
  readonly body: Fields;
  readonly headers: Headers;
  readonly stream?: ReadableStream<Uint8Array>;
};
export type SendCall = (call: PartyCall) => Promise<PartyAnswer>;

/** The parts of a party that make its calls. */
export type WireParts = { readonly send: SendCall; readonly end: () => void };
type WirePlant = (parts: WireParts) => { readonly send: SendCall };

/** A control of a party: its fault in words, and where it is planted. */
export type WireControl = { readonly fault: string; readonly plant: WirePlant };

const NO_ANSWER: PartyAnswer = { status: 0, body: {}, headers: new Headers() };

/** Creates a function that makes calls of a gateway until the signal fires. */
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

/** Alters the calls of an operation; with an empty name, all calls. */
export function onWire(
  on: string,
  alter: (call: PartyCall, parts: WireParts) => Promise<PartyAnswer>,
): WirePlant {
  return (parts) => ({
    send: (call) => (on === '' || call.operation === on ? alter(call, parts) : parts.send(call)),
  });
}

/** Changes the calls of the operation before they are sent. */
export function changes(on: string, change: (call: PartyCall) => PartyCall, fault: string): WireControl {
  return { fault, plant: onWire(on, (call, { send }) => send(change(call))) };
}

/** Sends the body as a form; behind a byte-order mark. */
export const asForm = (call: PartyCall): PartyCall => ({ ...call, text: 'form=1' });
export const withMark = (call: PartyCall): PartyCall => ({
  ...call,
  text: `\uFEFF${JSON.stringify(call.body)}`,
});

/** Changes fields of the body before it is sent; undefined leaves one out. */
export function sends(on: string, fields: Fields, fault: string): WireControl {
  return changes(on, (call) => ({ ...call, body: { ...call.body, ...fields } }), fault);
}

/** Does not make the calls, which seem to succeed. */
export function drops(on: string, fault: string): WireControl {
  return { fault, plant: onWire(on, async () => ({ ...NO_ANSWER, status: 200 })) };
}

/**
 * What an answer says: its status (0 for none), or a text or `false` as its code, its `error_info`, its
 * outcome or `accepted`.
 */
type Got = number | string | false;

/** Alters the answers to an operation: all, or those that match `got`. */
function answers(on: string, got: Got | undefined, alter: (answer: PartyAnswer) => PartyAnswer): WirePlant {
  return onWire(on, async (call, { send }) => {
    const answer = await send(call);
    return got === undefined || isGot(answer, got) ? alter(answer) : answer;
  });
}

/** Gives the answers that match `got` another status, and no code. */
export function sees(status: number, on: string, got: Got, fault: string): WireControl {
  const alter = ({ body: { code: _, ...body }, ...answer }: PartyAnswer) => ({ ...answer, status, body });
  return { fault, plant: answers(on, got, alter) };
}

/** Changes fields of the answers: of all, or of those that match `got`. */
export function reads(on: string, fields: Fields, fault: string, got?: Got): WireControl {
  const alter = (answer: PartyAnswer) => ({ ...answer, body: { ...answer.body, ...fields } });
  return { fault, plant: answers(on, got, alter) };
}

/** Removes `Retry-After` from the answers that match `got`. */
export function hurries(on: string, got: Got, fault: string): WireControl {
  const alter = ({ headers, ...answer }: PartyAnswer) => {
    const kept = new Headers(headers);
    kept.delete('retry-after');
    return { ...answer, headers: kept };
  };
  return { fault, plant: answers(on, got, alter) };
}

/** Ends the party when an answer matches `got`. */
export function ends(on: string, got: Got, fault: string): WireControl {
  const plant = (parts: WireParts) =>
    answers(on, got, (answer) => {
      parts.end();
      return answer;
    })(parts);
  return { fault, plant };
}

function isGot({ status, body, headers }: PartyAnswer, got: Got): boolean {
  const { code, error_info, accepted } = body;
  return [status, code, error_info, accepted, headers.get('task-outcome')].includes(got);
}
