/**
 * What the kit plays with a client. Each scenario is a gateway of its own and one run of the client, which
 * submits one task and prints its result. A trial holds what was seen; the checks look at it.
 */
import { randomBytes } from 'node:crypto';
import { type Fields, Finding } from './findings.ts';
import {
  createGatewayOfClients,
  type Frame,
  type GatewayOfClients,
  type Mishap,
  type Script,
  type Written,
} from './gateway-of-clients.ts';
import { problem } from './played-server.ts';
import type { StartedCommand, Starter } from './started-command.ts';

/** One run of the client. */
export type Trial = {
  readonly gateway: GatewayOfClients;
  readonly auth: string;
  /** What the client is to submit, and the result of that. */
  readonly task: { readonly type: string; readonly tag: string; readonly payload: Fields };
  readonly result: Fields;
  readonly exitCode: number | null;
  readonly output: string;
  readonly printed: string;
  /** Whether it ended by itself, within the limit. */
  readonly hasEnded: boolean;
  readonly limitMs: number;
};

/** A script, and what happens beside it. */
type Scenario = Script & {
  /** The work takes long enough for a stream to be opened again: this many times `longMs`. */
  readonly longs?: number;
  /** Whether the result is nearly as large as it may be. */
  readonly isLarge?: boolean;
  /** Runs while the client does. */
  readonly meanwhile?: (client: StartedCommand, gateway: GatewayOfClients, pause: Pause) => Promise<void>;
};
type Pause = (ms: number) => Promise<void>;

export type TrialOptions = {
  readonly starter: Starter;
  readonly prefix: string;
  readonly payload: Fields;
  /** How long the client may take. */
  readonly limitMs: number;
  /** The time within which it opens a stream again. */
  readonly longMs: number;
  readonly signal: AbortSignal;
};

/** The seconds of every `Retry-After`. */
export const RETRY_AFTER_SECONDS = 2;
const AFTER = { 'retry-after': String(RETRY_AFTER_SECONDS) };
const BUSY: Mishap = { reply: problem(503, 'busy', AFTER) };
const UNAVAILABLE: Mishap = { reply: problem(503, 'store_unavailable', AFTER) };
const OUTAGE_MS = 700;
const POLL_MS = 10;
/** Of three bytes each, so that the result has less than 1 MiB. */
const LARGE_CHARACTERS = 340_000;
/** How long the client has the response to its submission when a signal comes. */
const SETTLED_MS = 400;

/** The calls get these, one after the other, and then the usual. */
function inTurn(...mishaps: readonly Mishap[]): (nth: number) => Mishap | undefined {
  return (nth) => mishaps[nth];
}
const always = (mishap: Mishap) => () => mishap;
const refused = (status: number, code: string) => always({ reply: problem(status, code) });
/** There is no stream, so that the client polls. */
const POLLED: Pick<Script, 'events'> = { events: always(UNAVAILABLE) };

const usual = ({ id, data }: Frame): string => `id: ${id}\ndata: ${data}\n\n`;

/** A line end of two bytes, or a character of several, comes in two pieces: its first byte ends a piece. */
function writeInPieces(frame: Frame): Written {
  const bytes = Buffer.from(usual(frame).replaceAll('\n', '\r\n'));
  const ends = [...bytes.keys()].filter((at) => bytes[at] === 0x0d || Number(bytes[at]) >= 0xc0);
  return {
    pieces: [-1, ...ends].map((from, index) => bytes.subarray(from + 1, (ends[index] ?? bytes.length) + 1)),
  };
}

/** The places at which an event is cut: the number of its bytes that come. */
const CUTS: readonly ((bytes: Buffer) => number)[] = [
  // Behind the first byte of a character that has several.
  (bytes) => bytes.findIndex((byte) => byte > 0x7f) + 1,
  // Behind the line of the id.
  (bytes) => bytes.indexOf('data:'),
  // Within the name of a field.
  (bytes) => bytes.indexOf('data:') + 2,
  // Behind the line of the data, so that the empty line alone is missing.
  (bytes) => bytes.length - 1,
];

function cutAt(place: number, frame: Frame): Written {
  const bytes = Buffer.from(usual(frame));
  return { pieces: [bytes.subarray(0, CUTS[place]?.(bytes) ?? 0)], isCut: true };
}

/** Each stream gets one more event, and the next one up to another place. */
function cutEverywhere(frame: Frame, nth: number): Written | undefined {
  return frame.index > nth && nth < CUTS.length ? cutAt(nth, frame) : undefined;
}

const cutBehind = (frame: Frame): Written => ({ pieces: [usual(frame)], isCut: true });

/** Comments and fields that no client knows, between and within events. */
function writeComments({ id, data }: Frame): Written {
  return { pieces: [`: ping\n\n:\n: data: {}\nweather: fine\nid: ${id}\n: ping\ndata: ${data}\n\n`] };
}

/** An event of a type that a newer gateway has, about the same task. */
function writeNewerType(frame: Frame): Written {
  const paused = { ...JSON.parse(frame.data), event: 'task_paused', status: 'failed', result: null };
  return { pieces: [`event: task_paused\ndata: ${JSON.stringify(paused)}\n\n${usual(frame)}`] };
}

async function submitted(client: StartedCommand, gateway: GatewayOfClients, pause: Pause): Promise<void> {
  while (!gateway.calls('submit').some(({ status }) => status === 200) && !client.isOver())
    await pause(POLL_MS);
}

async function interrupt(client: StartedCommand, gateway: GatewayOfClients, pause: Pause): Promise<void> {
  await submitted(client, gateway, pause);
  await pause(SETTLED_MS);
  client.signal('SIGINT');
}

/** All scenarios. The first is played before the others, which may be played at the same time. */
export const CLIENT_SCENARIOS = {
  plain: {},
  failed: { end: { status: 'failed', progress: 50, result: null, error_info: 'Division by zero: 除以零' } },
  timedOut: {
    end: { status: 'failed', progress: 50, result: null, error_info: 'timeout' },
    outcome: 'timeout',
  },
  cancelled: {
    end: { status: 'failed', progress: 50, result: null, error_info: 'cancelled by user' },
    outcome: 'cancelled',
  },
  noAgent: {
    end: { status: 'failed', progress: 0, result: null, error_info: '无可用 Agent', agent_id: null },
    outcome: 'no_agent',
    workMs: 0,
  },
  early: { workMs: 0, responseMs: 300 },
  others: { others: 2 },
  noStream: POLLED,
  slow: { ...POLLED, workMs: 2_000, holdMsMax: 400 },
  opaqueId: { ...POLLED, request_id: 'task/一 ?#%2F&1' },
  large: { isLarge: true },
  unknownOutcome: { ...POLLED, outcome: 'success_at_second_try' },
  busySubmission: { submit: inTurn(BUSY) },
  lostSubmission: { submit: inTurn({ isServed: true }) },
  unavailable: {
    submit: inTurn({ ...UNAVAILABLE, isServed: true }, { reply: problem(500, 'internal'), isServed: true }),
  },
  slowBody: { submit: inTurn({ reply: problem(408, 'request_timeout') }) },
  newCode: { submit: inTurn({ reply: problem(503, 'moon_not_full', AFTER) }) },
  newRefusal: { submit: refused(400, 'moon_not_full') },
  refused: { submit: refused(422, 'validation_failed') },
  conflict: { submit: refused(422, 'idempotency_conflict') },
  unauthorized: { submit: refused(401, 'unauthorized') },
  readAgain: { ...POLLED, get: inTurn(BUSY, {}, { isTorn: true }) },
  tooMany: {
    ...POLLED,
    submit: inTurn({ reply: problem(429, 'too_many_requests', AFTER) }),
    get: inTurn({ reply: problem(429, 'too_many_requests', AFTER) }),
  },
  secretChanged: { ...POLLED, get: refused(401, 'unauthorized') },
  lostTask: { ...POLLED, get: refused(404, 'task_not_found') },
  redirected: { ...POLLED, get: inTurn({ isRedirection: true }) },
  tooManyStreams: { events: inTurn({ reply: problem(429, 'too_many_streams', AFTER) }), longs: 1 },
  pieces: { others: 1, write: writeInPieces },
  comments: { others: 1, write: writeComments },
  newerType: { write: (frame) => (frame.isOwn ? writeNewerType(frame) : undefined) },
  gap: { write: (frame) => (frame.isOwn ? { pieces: [': gap\nevent: gap\ndata: {}\n\n'] } : undefined) },
  cutBehind: {
    others: 1,
    longs: 1,
    write: (frame, nth) => (nth === 0 ? cutBehind(frame) : undefined),
  },
  cutInside: {
    others: CUTS.length + 1,
    longs: 2,
    write: cutEverywhere,
  },
  cutOwn: { write: (frame, nth) => (frame.isOwn && nth < CUTS.length ? cutAt(nth, frame) : undefined) },
  allAgain: {
    others: 1,
    longs: 1,
    isForgetful: true,
    write: (frame, nth) => (nth === 0 ? cutBehind(frame) : { pieces: [usual(frame).repeat(2)] }),
  },
  outage: {
    workMs: OUTAGE_MS,
    async meanwhile(client, gateway, pause) {
      await submitted(client, gateway, pause);
      await pause(OUTAGE_MS / 4);
      await gateway.stopListening();
      await pause(OUTAGE_MS);
      await gateway.listen();
    },
  },
  interrupted: { longs: 10, cancel: inTurn(BUSY), meanwhile: interrupt },
  interruptedLate: {
    longs: 10,
    cancel: refused(400, 'task_terminal'),
    meanwhile: interrupt,
  },
} as const satisfies Readonly<Record<string, Scenario>>;

export type ClientScenarioName = keyof typeof CLIENT_SCENARIOS;

/** Plays one scenario. Throws a finding where the client submits nothing. */
export async function playTrial(name: ClientScenarioName, options: TrialOptions): Promise<Trial> {
  const { starter, prefix, payload, limitMs, longMs, signal } = options;
  const scenario: Scenario = CLIENT_SCENARIOS[name];
  const auth = randomBytes(24).toString('hex');
  const marker = randomBytes(6).toString('hex');
  const output = `完成 ${marker} 🎉${scenario.isLarge ? '好'.repeat(LARGE_CHARACTERS) : ''}`;
  const result = { reply: '收到 👍', output, more: { pages: [1, 2.5, null] } };
  const { longs } = scenario;
  const script = longs === undefined ? scenario : { ...scenario, workMs: longs * longMs };
  const gateway = createGatewayOfClients(script, auth, result);
  const task = { type: `${prefix}-type`, tag: `${prefix}-标签`, payload };
  const pause: Pause = async (ms) => {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, ms));
    signal.throwIfAborted();
  };
  await gateway.listen();
  const client = starter.start({
    TASK_GATEWAY_URL: gateway.url,
    TASK_GATEWAY_AUTH: auth,
    TASK_TYPE: task.type,
    TASK_TAG: task.tag,
    TASK_PAYLOAD: JSON.stringify(payload),
  });
  try {
    const endMs = performance.now() + limitMs;
    // What fails there is seen in the trial: the client ended too early, or the run.
    const meanwhile = scenario.meanwhile?.(client, gateway, pause).catch(() => {});
    while (!client.isOver() && performance.now() < endMs) await pause(POLL_MS);
    const hasEnded = client.isOver();
    client.signal('SIGKILL');
    if (hasEnded) await meanwhile;
    if (gateway.calls('submit').length === 0)
      throw new Finding(
        `The client ${hasEnded ? 'ended' : `ran for ${limitMs / 1_000} s`} without submitting a task.` +
          `${client.printed() === '' ? '' : ` It printed: ${client.printed()}`}`,
      );
    return {
      gateway,
      auth,
      task,
      result,
      exitCode: client.exitCode(),
      output: client.output(),
      printed: client.printed(),
      hasEnded,
      limitMs,
    };
  } finally {
    client.signal('SIGKILL');
    await gateway.close().catch(() => {});
  }
}
