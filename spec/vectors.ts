/**
 * Test vectors for programs in other languages. They show which events a reader gets from a stream that is
 * cut at any byte, whether an agent takes a signed push, the body of each problem, and which check answers
 * when several fail.
 */
import { createHmac } from 'node:crypto';
import { isJson, type Json, walkObjects } from './document.ts';
import { listGuideStatements } from './statements.ts';

type Case = {
  readonly name: string;
  readonly text: string;
  /** After how many bytes the stream is cut; if absent, it comes whole. */
  readonly cuts?: readonly number[];
  /** Type, data and last id of each event that the reader gets. */
  readonly events: readonly (readonly [type: string, data: string, id: string])[];
};

const STREAMS: readonly Case[] = [
  { name: 'one event', text: 'id: 1\ndata: {"a":1}\n\n', events: [['message', '{"a":1}', '1']] },
  { name: 'lines end with CR LF', text: 'data: a\r\n\r\n', events: [['message', 'a', '']] },
  {
    name: 'lines end with CR',
    text: 'data: a\r\rdata: b\r\r',
    events: [
      ['message', 'a', ''],
      ['message', 'b', ''],
    ],
  },
  {
    name: 'a cut between CR and LF',
    text: 'data: a\r\ndata: b\r\n\r\n',
    cuts: [8],
    events: [['message', 'a\nb', '']],
  },
  {
    name: 'a cut inside a character',
    text: 'data: 你好\n\n',
    cuts: [7, 8, 10],
    events: [['message', '你好', '']],
  },
  {
    name: 'a cut at every byte',
    text: 'id: é\ndata: x\n\n',
    cuts: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    events: [['message', 'x', 'é']],
  },
  { name: 'a byte-order mark', text: '\ufeffdata: a\n\n', events: [['message', 'a', '']] },
  {
    name: 'comments and unknown fields',
    text: ': ping\n\nretry: 5\nnew: 1\ndata: a\n\n',
    events: [['message', 'a', '']],
  },
  {
    name: 'no blank behind the colon, and two',
    text: 'data:a\ndata:  b\n\n',
    events: [['message', 'a\n b', '']],
  },
  {
    name: 'an event of the type gap has no id of its own',
    text: 'id: 7\ndata: a\n\nevent: gap\ndata: {}\n\n',
    events: [
      ['message', 'a', '7'],
      ['gap', '{}', '7'],
    ],
  },
  {
    name: 'an event without data never comes',
    text: 'event: gap\n\ndata: a\n\n',
    events: [['message', 'a', '']],
  },
  {
    name: 'an event that no empty line ends never comes',
    text: 'data: a\n\ndata: b\n',
    events: [['message', 'a', '']],
  },
  {
    name: 'an id with a null character is ignored',
    text: 'id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n',
    events: [
      ['message', 'a', '1'],
      ['message', 'b', '1'],
    ],
  },
];

const PUSH = { id: '019a9f6e-7c1b-7d52-9f0e-3b6f5a1c2d4e', timestamp: '1763611410' };
const BODY = `{"request_id":"${PUSH.id}","payload":{"text":"你好"}}`;
const CODED = 'dGFzay1nYXRld2F5LWV4YW1wbGUtc2VjcmV0LTMyYg==';
const PLAIN = 'a-plain-secret-of-your-own';

/** Returns the text of each file of vectors by its name. */
export function buildVectors(document: Json): ReadonlyMap<string, string> {
  const files = {
    'event-streams': STREAMS.map(describeStream),
    signatures: describeSignatures(),
    problems: listProblems(document),
    'order-of-checks': listOrder(document),
  };
  return new Map(
    Object.entries(files).map(([name, value]) => [
      `vectors/${name}.json`,
      `${JSON.stringify(value, null, 2)}\n`,
    ]),
  );
}

function describeStream({ name, text, cuts = [], events }: Case) {
  const bytes = Buffer.from(text);
  const ends = [...cuts, bytes.length];
  return {
    name,
    chunks_base64: ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end).toString('base64')),
    events: events.map(([type, data, id]) => ({ type, data, last_id: id })),
  };
}

function sign(key: Buffer, { id = PUSH.id, timestamp = PUSH.timestamp, body = BODY } = {}): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/**
 * Lists pushes that an agent takes or refuses. `now` is its clock in seconds; `secrets` are those that it
 * knows.
 */
function describeSignatures() {
  const [coded, plain] = [Buffer.from(CODED, 'base64'), Buffer.from(PLAIN)];
  const now = Number(PUSH.timestamp);
  const valid = {
    ...PUSH,
    body: BODY,
    now,
    secrets: [`whsec_${CODED}`],
    signature: sign(coded),
    valid: true,
  };
  return [
    { name: 'a secret in base64', ...valid },
    { name: 'a secret as text', ...valid, secrets: [PLAIN], signature: sign(plain) },
    { name: 'two signatures, the second is known', ...valid, signature: `${sign(plain)} ${sign(coded)}` },
    { name: 'two secrets, the second has signed', ...valid, secrets: [PLAIN, `whsec_${CODED}`] },
    { name: 'an unknown version beside it', ...valid, signature: `v2,abc ${sign(coded)}` },
    { name: 'five minutes late', ...valid, now: now + 300 },
    { name: 'more than five minutes late', ...valid, now: now + 301, valid: false },
    { name: 'more than five minutes early', ...valid, now: now - 301, valid: false },
    { name: 'another secret', ...valid, signature: sign(plain), valid: false },
    { name: 'another body', ...valid, body: `${BODY} `, valid: false },
    { name: 'another id', ...valid, id: PUSH.id.replace('0', '1'), valid: false },
    { name: 'no signature', ...valid, signature: '', valid: false },
    { name: 'a version without a signature', ...valid, signature: 'v1,', valid: false },
  ];
}

/** Lists the first example of each code in the document. */
function listProblems(document: Json): readonly Json[] {
  const found = new Map<unknown, Json>();
  for (const { type, code, status, detail, value } of walkObjects(document)) {
    const body = isJson(value) ? value : { type, code, status, detail };
    const isProblem = typeof body.type === 'string' && body.type.startsWith('urn:task-gateway:problem:');
    if (isProblem && isJson(value) && typeof body.code === 'string' && !found.has(body.code))
      found.set(body.code, body);
  }
  return [...found.values()];
}

/** Lists for each step of the guide its statuses and their codes, in order; null if it names no code. */
function listOrder(document: Json) {
  const steps = listGuideStatements(document).filter(
    ({ where, text }) => where === 'Order of checks' && /\b[45]\d\d `[a-z_]+`/.test(text),
  );
  return steps.map(({ text }) => ({
    text,
    problems: [...text.matchAll(/\b([45]\d\d)\b(?: `([a-z_]+)`)?/g)].map(([, status, code = null]) => ({
      status: Number(status),
      code,
    })),
  }));
}
