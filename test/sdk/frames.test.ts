/** The wire format of an event stream: the cases of the HTML standard, however the bytes are split. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConnectionError } from '../../sdk/errors.ts';
import { createFrameReader, type Frame } from '../../sdk/stream/frames.ts';

const encoder = new TextEncoder();

function readAll(chunks: readonly Uint8Array[]): readonly Frame[] {
  const read = createFrameReader();
  return chunks.flatMap((chunk) => read(chunk));
}

function event(data: string, id?: string, type?: string): Frame {
  return { kind: 'event', id, type, data };
}

const comment = (text: string): Frame => ({ kind: 'comment', text });
const retry = (retryMs: number): Frame => ({ kind: 'retry', retryMs });

const CASES: readonly {
  readonly title: string;
  readonly wire: string;
  readonly frames: readonly Frame[];
}[] = [
  { title: 'lines end with LF', wire: 'id: 1\ndata: a\n\n', frames: [event('a', '1')] },
  { title: 'lines end with CRLF', wire: 'id: 1\r\ndata: a\r\n\r\n', frames: [event('a', '1')] },
  { title: 'lines end with CR', wire: 'id: 1\rdata: a\r\r', frames: [event('a', '1')] },
  { title: 'line ends are mixed', wire: 'data: a\r\ndata: b\rdata: c\n\r\n', frames: [event('a\nb\nc')] },
  { title: 'LF then CR is two line ends', wire: 'data: a\n\rdata: b\n\r', frames: [event('a'), event('b')] },
  { title: 'a byte-order mark opens the stream', wire: '\uFEFFdata: a\n\n', frames: [event('a')] },
  { title: 'only the first byte-order mark is removed', wire: '\uFEFF\uFEFFdata: a\n\n', frames: [] },
  {
    title: 'characters that resemble a byte-order mark are kept',
    wire: 'ï»¿: x\ndata: a\n\n',
    frames: [event('a')],
  },
  {
    title: 'characters are outside ASCII',
    wire: 'data: 无可用 Agent 🚀\n\n',
    frames: [event('无可用 Agent 🚀')],
  },
  { title: 'data comes in several lines', wire: 'data: a\ndata\ndata: b\n\n', frames: [event('a\n\nb')] },
  {
    title: 'one space after the colon is removed',
    wire: 'data:  a\n\ndata:b\n\n',
    frames: [event(' a'), event('b')],
  },
  { title: 'a tab after the colon is kept', wire: 'data:\ta\n\n', frames: [event('\ta')] },
  { title: 'data is empty', wire: 'data\n\ndata:\n\n', frames: [event(''), event('')] },
  {
    title: 'an event has a type',
    wire: 'event: task_done\ndata: a\n\ndata: b\n\n',
    frames: [event('a', undefined, 'task_done'), event('b')],
  },
  { title: 'a type comes without data', wire: 'event: x\n\ndata: a\n\n', frames: [event('a')] },
  { title: 'an id without a value is empty', wire: 'id\ndata: a\n\n', frames: [event('a', '')] },
  { title: 'an id with NUL is ignored', wire: 'id: a\0b\ndata: a\n\n', frames: [event('a')] },
  { title: 'the last id of an event counts', wire: 'id: 1\nid: 2\ndata: a\n\n', frames: [event('a', '2')] },
  {
    title: 'an id comes without data',
    wire: 'id: 7\n\nid\nevent: x\n\ndata: a\n\n',
    frames: [
      { kind: 'id', id: '7' },
      { kind: 'id', id: '' },
      { kind: 'event', id: undefined, type: undefined, data: 'a' },
    ],
  },
  { title: 'a type is empty', wire: 'event: x\nevent\ndata: a\n\n', frames: [event('a')] },
  {
    title: 'comments stand between events',
    wire: ': ping\n\n:gap\ndata: a\n:\n\n',
    frames: [comment('ping'), comment('gap'), comment(''), event('a')],
  },
  {
    title: 'the server says when to retry',
    wire: 'retry: 2000\ndata: a\n\n',
    frames: [retry(2000), event('a')],
  },
  {
    title: 'a retry that is not a number is ignored',
    wire: 'retry: 2s\nretry: -1\nretry\ndata: a\n\n',
    frames: [event('a')],
  },
  {
    title: 'unknown fields are ignored',
    wire: 'dat: x\n data: y\nDATA: z\ndata: a\n\n',
    frames: [event('a')],
  },
  {
    title: 'an event is not completed by an empty line',
    wire: 'data: a\n\ndata: b\n',
    frames: [event('a')],
  },
];

describe('an event stream is parsed correctly when', () => {
  for (const { title, wire, frames } of CASES) {
    test(`${title}, split at every byte`, () => {
      const bytes = encoder.encode(wire);
      expect(readAll([bytes])).toEqual(frames);
      for (let at = 1; at < bytes.length; at += 1) {
        expect(readAll([bytes.subarray(0, at), bytes.subarray(at)]), `split at ${at}`).toEqual(frames);
      }
      expect(readAll(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(frames);
    });
  }

  test('it is split anywhere, any number of times', () => {
    const piece = fc.constantFrom(
      'data: ',
      'data',
      'id: 1',
      'event: x',
      ': c',
      'retry: 5',
      '\r',
      '\n',
      '\r\n',
      '无',
      '🚀',
      '\uFEFF',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(100)), (pieces, cuts) => {
        const bytes = encoder.encode(pieces.join(''));
        const at = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort(
          (a, b) => a - b,
        );
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        expect(readAll(chunks)).toEqual(readAll([bytes]));
      }),
      { numRuns: 500 },
    );
  });
});

test('A frame is returned as soon as its last byte has arrived, even if that is a CR.', () => {
  const read = createFrameReader();
  expect(read(encoder.encode('data: a\r'))).toEqual([]);
  expect(read(encoder.encode('\r'))).toEqual([event('a')]);
  expect(read(encoder.encode('\ndata: b\n\n'))).toEqual([event('b')]);
});

test('An event larger than the limit is an error.', () => {
  const read = createFrameReader(1_000);
  expect(() => {
    for (let sent = 0; sent < 100; sent += 1) read(encoder.encode('data: 0123456789\n'));
  }).toThrow(expect.objectContaining({ code: 'event_too_large' }));
  expect(() => createFrameReader(10)(encoder.encode('x'.repeat(11)))).toThrow(ConnectionError);
});
