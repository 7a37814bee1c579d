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

/** A title, what is sent, and its frames. */
const CASES: readonly (readonly [title: string, wire: string, frames: readonly Frame[]])[] = [
  ['lines end with LF', 'id: 1\ndata: a\n\n', [event('a', '1')]],
  ['lines end with CRLF', 'id: 1\r\ndata: a\r\n\r\n', [event('a', '1')]],
  ['lines end with CR', 'id: 1\rdata: a\r\r', [event('a', '1')]],
  ['line ends are mixed', 'data: a\r\ndata: b\rdata: c\n\r\n', [event('a\nb\nc')]],
  ['LF then CR is two line ends', 'data: a\n\rdata: b\n\r', [event('a'), event('b')]],
  ['a byte-order mark opens the stream', '\uFEFFdata: a\n\n', [event('a')]],
  ['only the first byte-order mark is removed', '\uFEFF\uFEFFdata: a\n\n', []],
  ['characters that resemble a byte-order mark are kept', 'ï»¿: x\ndata: a\n\n', [event('a')]],
  ['characters are outside ASCII', 'data: 无可用 Agent 🚀\n\n', [event('无可用 Agent 🚀')]],
  ['data comes in several lines', 'data: a\ndata\ndata: b\n\n', [event('a\n\nb')]],
  ['one space after the colon is removed', 'data:  a\n\ndata:b\n\n', [event(' a'), event('b')]],
  ['a tab after the colon is kept', 'data:\ta\n\n', [event('\ta')]],
  ['data is empty', 'data\n\ndata:\n\n', [event(''), event('')]],
  [
    'an event has a type',
    'event: task_done\ndata: a\n\ndata: b\n\n',
    [event('a', undefined, 'task_done'), event('b')],
  ],
  ['a type comes without data', 'event: x\n\ndata: a\n\n', [event('a')]],
  ['an id without a value is empty', 'id\ndata: a\n\n', [event('a', '')]],
  ['an id with NUL is ignored', 'id: a\0b\ndata: a\n\n', [event('a')]],
  ['the last id of an event counts', 'id: 1\nid: 2\ndata: a\n\n', [event('a', '2')]],
  [
    'an id comes without data',
    'id: 7\n\nid\nevent: x\n\ndata: a\n\n',
    [
      { kind: 'id', id: '7' },
      { kind: 'id', id: '' },
      { kind: 'event', id: undefined, type: undefined, data: 'a' },
    ],
  ],
  ['a type is empty', 'event: x\nevent\ndata: a\n\n', [event('a')]],
  [
    'comments stand between events',
    ': ping\n\n:gap\ndata: a\n:\n\n',
    [comment('ping'), comment('gap'), comment(''), event('a')],
  ],
  ['the server says when to retry', 'retry: 2000\ndata: a\n\n', [retry(2000), event('a')]],
  ['a retry that is not a number is ignored', 'retry: 2s\nretry: -1\nretry\ndata: a\n\n', [event('a')]],
  ['unknown fields are ignored', 'dat: x\n data: y\nDATA: z\ndata: a\n\n', [event('a')]],
  ['an event is not completed by an empty line', 'data: a\n\ndata: b\n', [event('a')]],
];

describe('an event stream is parsed correctly when', () => {
  test.each(CASES)('%s, split at every byte', (_title, wire, frames) => {
    const bytes = encoder.encode(wire);
    expect(readAll([bytes])).toEqual(frames);
    for (let at = 1; at < bytes.length; at += 1) {
      expect(readAll([bytes.subarray(0, at), bytes.subarray(at)]), `split at ${at}`).toEqual(frames);
    }
    expect(readAll(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(frames);
  });

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
