/**
 * What the kit plays with a client. Each scenario says what the agent of its task does, how calls and streams
 * differ from the usual, and what happens meanwhile.
 */
import type { AgentScript } from '@task-gateway/simulator';
import type { StartedCommand } from './started-command.ts';
import { type Mishap, problem, type Received, type TrialGateway } from './trial-gateway.ts';
import { type Frame as AnyFrame, usual, type Written } from './trial-streams.ts';

/** A frame of an event or of a piece. */
type Frame = AnyFrame & {
  /** Whether it says that the task has ended. */
  readonly isOwn: boolean;
};
type Choose = (nth: number, call: Received) => Mishap | undefined;

export type Scenario = {
  /** How the task's agent differs from one that succeeds. With null the task finds no agent. */
  readonly agent?: Partial<AgentScript> | null;
  /** How long the agent works. */
  readonly workMs?: number;
  /** The same in units of `longMs`, the time within which a client must reopen a cut stream. */
  readonly longs?: number;
  /** The task's `Task-Outcome` and its id, if they differ from the usual. */
  readonly outcome?: string;
  readonly request_id?: string;
  /** How many tasks of the same session have ended before. */
  readonly others?: number;
  /** How long a poll is held at most. */
  readonly holdMsMax?: number;
  /** How the calls of an operation go, by their number from 0; undefined for as usual. */
  readonly on?: Readonly<
    Partial<Record<'submit' | 'get' | 'cancel' | 'events' | 'stream' | 'answer', Choose>>
  >;
  /** What the nth stream gets for a frame; undefined for the usual. */
  readonly write?: (frame: Frame, nth: number) => Written | undefined;
  /** Whether a stream sends everything again, whatever the client has. */
  readonly isForgetful?: boolean;
  /** Whether the result is nearly as large as allowed. */
  readonly isLarge?: boolean;
  /** Runs while the client runs. */
  readonly meanwhile?: (client: StartedCommand, gateway: TrialGateway, pause: Pause) => Promise<void>;
};
export type Pause = (ms: number) => Promise<void>;

/** The seconds in every `Retry-After`. */
export const RETRY_AFTER_SECONDS = 2;
const AFTER = { 'retry-after': String(RETRY_AFTER_SECONDS) };
const BUSY: Mishap = { reply: problem(503, 'busy', AFTER) };
const UNAVAILABLE: Mishap = { reply: problem(503, 'store_unavailable', AFTER) };
const TOO_MANY: Mishap = { reply: problem(429, 'too_many_streams', AFTER) };
const OUTAGE_MS = 700;
const POLL_MS = 10;
/** How long before a signal the client has the response to its submission. */
const SETTLED_MS = 400;
/** The agent's question, its answer, and how long the agent waits for it. */
const GO = { type: 'object', properties: { go: { type: 'boolean' } }, required: ['go'] } as const;
export const ANSWER = { go: true };
const ASKS = { asks: [{ prompt: '继续吗？', schema: GO, answer: ANSWER, after: 3 }] };
/** Where a redirection goes. */
export const ELSEWHERE = '/elsewhere';

/** Gives the calls these, one after the other, and then the usual. */
function inTurn(...mishaps: readonly Mishap[]): Choose {
  return (nth) => mishaps[nth];
}
const always = (mishap: Mishap) => () => mishap;
const refused = (status: number, code: string) => always({ reply: problem(status, code) });
/** Refuses all streams, so that the client polls. */
const NO_STREAM = { events: always(UNAVAILABLE), stream: always(UNAVAILABLE) };
const CUT: Mishap = { isCut: true };
const LOST: Mishap = { isCut: true, isServed: true };

/** Writes a line end of two bytes, or a character of several, in two pieces: the first byte ends a piece. */
function writeInPieces(frame: Frame): Written {
  const bytes = Buffer.from(usual(frame).replaceAll('\n', '\r\n'));
  const ends = [...bytes.keys()].filter((at) => bytes[at] === 0x0d || Number(bytes[at]) >= 0xc0);
  return {
    pieces: [-1, ...ends].map((from, index) => bytes.subarray(from + 1, (ends[index] ?? bytes.length) + 1)),
  };
}

/** Where an event is cut: how many of its bytes come. */
const CUTS: readonly ((bytes: Buffer) => number)[] = [
  // Behind the first byte of a character that has several.
  (bytes) => bytes.findIndex((byte) => byte > 0x7f) + 1,
  // Behind the line of the id.
  (bytes) => bytes.indexOf('data:'),
  // Within the name of a field.
  (bytes) => bytes.indexOf('data:') + 2,
  // Behind the line of the data, so that only the empty line is missing.
  (bytes) => bytes.length - 1,
];

function cutAt(place: number, frame: Frame): Written {
  const bytes = Buffer.from(usual(frame));
  return { pieces: [bytes.subarray(0, CUTS[place]?.(bytes) ?? 0)], isCut: true };
}

/** Gives each stream one more event, then cuts the next event at another place. */
function cutEverywhere(frame: Frame, nth: number): Written | undefined {
  return frame.index > nth && nth < CUTS.length ? cutAt(nth, frame) : undefined;
}

const cutBehind = (frame: Frame): Written => ({ pieces: [usual(frame)], isCut: true });

/** Writes comments and fields that no client knows, between and within events. */
function writeComments({ id, data }: Frame): Written {
  return { pieces: [`: ping\n\n:\n: data: {}\nweather: fine\nid: ${id}\n: ping\ndata: ${data}\n\n`] };
}

/** Writes an event of a type that only a newer gateway has, about the same task. */
function writeNewerType(frame: Frame): Written {
  const paused = { ...JSON.parse(frame.data), event: 'task_paused', status: 'failed', result: null };
  return { pieces: [`event: task_paused\ndata: ${JSON.stringify(paused)}\n\n${usual(frame)}`] };
}

const GAP: Written = { pieces: [': gap\nevent: gap\ndata: {}\n\n'] };

/** Redirects to the same machine, under a name for which no secret was given. */
function redirect(nth: number, { headers }: Received): Mishap | undefined {
  const location = `http://${headers.host?.replace('127.0.0.1', 'localhost')}${ELSEWHERE}`;
  return nth === 0 ? { reply: { status: 307, headers: { location } } } : undefined;
}

async function submitted(client: StartedCommand, gateway: TrialGateway, pause: Pause): Promise<Received> {
  for (;;) {
    const done = gateway.calls('submit').find(({ status }) => status === 200);
    if (done) return done;
    if (client.isOver()) throw new Error('The client has ended.');
    await pause(POLL_MS);
  }
}

/** Lets the task's time run out. */
async function passTime(client: StartedCommand, gateway: TrialGateway, pause: Pause): Promise<void> {
  const { timeout = 600 } = (await submitted(client, gateway, pause)).body;
  await (await gateway.simulator()).clock.advance(Number(timeout));
}

async function interrupt(client: StartedCommand, gateway: TrialGateway, pause: Pause): Promise<void> {
  await submitted(client, gateway, pause);
  await pause(SETTLED_MS);
  client.signal('SIGINT');
}

/** All scenarios. The first one is played before the others, which may be played at the same time. */
export const CLIENT_SCENARIOS = {
  plain: {},
  failed: { agent: { does: 'fail', error_info: 'Division by zero: 除以零' } },
  timedOut: {
    agent: { does: 'go_silent' },
    meanwhile: passTime,
  },
  cancelled: {
    longs: 10,
    async meanwhile(client, gateway, pause) {
      await submitted(client, gateway, pause);
      for (const request_id of gateway.created)
        await gateway.ask('POST', `/api/cli/tasks/${request_id}/cancel`);
    },
  },
  noAgent: { agent: null, meanwhile: passTime },
  early: { workMs: 0, on: { submit: always({ lateMs: 300 }) } },
  others: { others: 2 },
  noStream: { on: NO_STREAM },
  slow: { on: NO_STREAM, workMs: 2_000, holdMsMax: 400 },
  opaqueId: { on: NO_STREAM, request_id: 'task/一 ?#%2F&1' },
  large: { isLarge: true },
  unknownOutcome: { on: NO_STREAM, outcome: 'success_at_second_try' },
  busySubmission: { on: { submit: inTurn(BUSY) } },
  lostSubmission: { on: { submit: inTurn(LOST) } },
  unavailable: {
    on: {
      submit: inTurn({ ...UNAVAILABLE, isServed: true }, { reply: problem(500, 'internal'), isServed: true }),
    },
  },
  slowBody: { on: { submit: inTurn({ reply: problem(408, 'request_timeout') }) } },
  newCode: { on: { submit: inTurn({ reply: problem(503, 'moon_not_full', AFTER) }) } },
  newRefusal: { on: { submit: refused(400, 'moon_not_full') } },
  refused: { on: { submit: refused(422, 'validation_failed') } },
  conflict: { on: { submit: refused(422, 'idempotency_conflict') } },
  unauthorized: { on: { submit: refused(401, 'unauthorized') } },
  readAgain: { on: { ...NO_STREAM, get: inTurn(BUSY, CUT, { isTorn: true }) } },
  tooMany: {
    on: {
      ...NO_STREAM,
      submit: inTurn({ reply: problem(429, 'too_many_requests', AFTER) }),
      get: inTurn({ reply: problem(429, 'too_many_requests', AFTER) }),
    },
  },
  secretChanged: { on: { ...NO_STREAM, get: refused(401, 'unauthorized') } },
  lostTask: { on: { ...NO_STREAM, get: refused(404, 'task_not_found') } },
  redirected: { on: { ...NO_STREAM, get: redirect } },
  tooManyStreams: { on: { events: inTurn(TOO_MANY), stream: inTurn(TOO_MANY) }, longs: 1 },
  pieces: { others: 1, write: writeInPieces },
  comments: { others: 1, write: writeComments },
  newerType: { write: (frame) => (frame.isOwn ? writeNewerType(frame) : undefined) },
  gap: { write: ({ isOwn, fields }) => (isOwn && fields.event !== undefined ? GAP : undefined) },
  cutBehind: { others: 1, longs: 1, write: (frame, nth) => (nth === 0 ? cutBehind(frame) : undefined) },
  cutInside: { others: CUTS.length + 1, longs: 2, write: cutEverywhere },
  cutOwn: { write: (frame, nth) => (frame.isOwn && nth < CUTS.length ? cutAt(nth, frame) : undefined) },
  allAgain: {
    others: 1,
    longs: 1,
    isForgetful: true,
    write: (frame, nth) => (nth === 0 ? cutBehind(frame) : { pieces: [usual(frame).repeat(2)] }),
  },
  asked: { agent: ASKS, on: { answer: inTurn(CUT, LOST) } },
  askedLate: { agent: ASKS, on: { answer: refused(400, 'not_asked') } },
  askedInVain: { agent: ASKS, on: { answer: refused(422, 'validation_failed') } },
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
  interrupted: { longs: 10, on: { cancel: inTurn(BUSY) }, meanwhile: interrupt },
  interruptedLate: { longs: 10, on: { cancel: refused(400, 'task_terminal') }, meanwhile: interrupt },
} as const satisfies Readonly<Record<string, Scenario>>;

export type ClientScenarioName = keyof typeof CLIENT_SCENARIOS;
