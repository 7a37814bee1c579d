/**
 * Sends inputs to a port and reads every response: those with a right framing many at a time over a few
 * connections, each response matched with its input; the others on a connection each, until the server has
 * closed it.
 */
import { connect, type Socket } from 'node:net';
import type { Input } from './hostile-inputs.ts';

/** The responses to all inputs. */
export type FloodResult = {
  /** How often each status came. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Inputs whose connection was closed without a response. */
  readonly unanswered: number;
  /** Inputs refused with 503 and `Retry-After`, as while the disk of this machine stands still. */
  readonly unavailable: number;
  /** Any other status of 500 or more, a response that cannot be parsed, or none where there must be one. */
  readonly faults: readonly string[];
};

const LANES = 12;
const BATCH = 48;
/** Nothing here takes this long: an input without a response by then hangs. */
const HANG_MS = 20_000;
const FAULTS_DESCRIBED = 5;
/** How a gateway refuses while its disk does not respond, or while others keep it busy. */
const UNAVAILABLE = /^retry-after: \d+\r$[\s\S]*"code":"(?:busy|store_unavailable)"/im;

/** A response: its status, and its bytes as text. */
type Answer = { readonly status: number; readonly text: string };

/**
 * Sends this many inputs. Resolves when each has a response or a closed connection; rejects when one hangs.
 */
export async function flood(port: number, next: () => Input, count: number): Promise<FloodResult> {
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  let unanswered = 0;
  let unavailable = 0;
  let left = count;

  const note = (input: Input, { status, text }: Answer): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 503 && UNAVAILABLE.test(text)) unavailable += 1;
    else if (status >= 500 || status < 200) blame(input, `was answered ${status}: ${text.slice(0, 500)}`);
  };
  const blame = (input: Input, what: string): void => {
    if (faults.length < FAULTS_DESCRIBED) faults.push(`${describe(input)} ${what}`);
    else faults.push(what);
  };

  const runLane = async (): Promise<void> => {
    let framed: Input[] = [];
    while (left > 0 || framed.length > 0) {
      while (framed.length < BATCH && left > 0) {
        left -= 1;
        const input = next();
        if (input.kind === 'wire') unanswered += (await sendAlone(port, input, note)) ? 0 : 1;
        else framed.push(input);
      }
      framed = await sendFramed(framed);
    }
  };

  /** Sends them over one connection; resolves with those behind a close of the server, to be sent again. */
  const sendFramed = async (inputs: readonly Input[]): Promise<Input[]> => {
    const answered = await converse(port, inputs);
    for (const [index, answer] of answered.entries()) note(inputs[index] as Input, answer);
    const [refused, ...rest] = inputs.slice(answered.length);
    if (!refused) return [];
    if (answered.length > 0) return [refused, ...rest];
    // Closed at once again: it is not sent a third time.
    unanswered += 1;
    blame(refused, 'was closed without a response');
    return rest;
  };

  await Promise.all(Array.from({ length: LANES }, runLane));
  return { statuses, unanswered, unavailable, faults };
}

/** The answers in order, until all have come or the server has closed. */
function converse(port: number, inputs: readonly Input[]): Promise<readonly Answer[]> {
  const socket = connect(port, '127.0.0.1');
  const answers: Answer[] = [];
  let pending: Buffer = Buffer.alloc(0);
  const awaited = (): string =>
    `${describe(inputs[answers.length])}, answer ${answers.length + 1} on its connection, after ${describe(inputs[answers.length - 1])}; come so far: ${pending.toString('latin1')}`;
  return settleWith(socket, awaited, (finish) => {
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      while (answers.length < inputs.length) {
        const answer = readAnswer(pending, inputs[answers.length]?.isHead === true);
        if (!answer) break;
        const text = answer.status >= 500 ? pending.toString('latin1', 0, answer.length) : '';
        pending = pending.subarray(answer.length);
        if (answer.status >= 200) answers.push({ status: answer.status, text });
      }
      if (answers.length >= inputs.length) finish();
    });
    socket.write(Buffer.concat(inputs.map(({ bytes }) => bytes)));
  }).then(() => answers);
}

/** Sends one input and half-closes; whether anything was answered. */
async function sendAlone(
  port: number,
  input: Input,
  note: (input: Input, answer: Answer) => void,
): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  await settleWith(
    socket,
    () => describe(input),
    (finish) => {
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        // By chance it may have become a right subscription; and a closing connection may linger for its
        // sender.
        if (/^content-type: text\/event-stream/im.test(text) || isClosing(text)) finish();
      });
      socket.end(input.bytes);
    },
  );
  const found = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map((match) => Number(match[1]));
  for (const status of found) if (status >= 200) note(input, { status, text });
  if (text !== '' && found.length === 0) note(input, { status: 0, text });
  return found.length > 0;
}

/** Resolves when it is finished or closed; rejects, saying what was awaited, when neither comes. */
function settleWith(socket: Socket, awaited: () => string, run: (finish: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`No answer within ${HANG_MS / 1_000} s to ${awaited()}`));
    }, HANG_MS);
    const finish = (): void => {
      clearTimeout(late);
      socket.destroy();
      resolve();
    };
    // A reset is a way to close.
    socket.on('error', () => undefined);
    socket.on('close', finish);
    run(finish);
  });
}

/** Whether the text ends with a whole answer that is the last of its connection. */
function isClosing(text: string): boolean {
  const start = text.lastIndexOf('HTTP/1.1 ');
  const last = Buffer.from(text.slice(start), 'latin1');
  return (
    start >= 0 && /^connection: close/im.test(text.slice(start)) && readAnswer(last, false) !== undefined
  );
}

/** The first answer in the bytes, once it is whole. Something that is no answer has the status 0. */
function readAnswer(bytes: Buffer, isHead: boolean): { status: number; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0);
  const declared = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304;
  const length = headEnd + 4 + (hasBody ? declared : 0);
  return bytes.length < length ? undefined : { status, length };
}

function describe(input: Input | undefined): string {
  return input
    ? `${input.kind} ${JSON.stringify(input.bytes.toString('latin1').slice(0, 5_000))}`
    : 'nothing';
}
