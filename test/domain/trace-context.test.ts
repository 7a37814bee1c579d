/** Which headers of W3C Trace Context name a trace, and what is kept of them. */
import { describe, expect, test } from 'vitest';
import { parseTraceContext } from '../../server/domain/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

describe('traceparent', () => {
  test.each([PARENT, `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-ff`])('is kept unchanged: %s', (text) => {
    expect(parseTraceContext(text, undefined)).toEqual({ traceparent: text });
    expect(parseTraceContext(` ${text}\t`, undefined)).toEqual({ traceparent: text });
  });

  test.each([
    ['absent', undefined],
    ['empty', ''],
    ['upper-case', PARENT.toUpperCase()],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['the forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['too short', PARENT.slice(0, -1)],
    ['more than its version has', `${PARENT}-00`],
    ['a digit too many', `${PARENT}0`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['other separators', PARENT.replaceAll('-', '_')],
    ['sent twice', `${PARENT}, ${PARENT}`],
    ['hostile', `${PARENT}\r\nx: y`],
  ])('is ignored, and tracestate with it: %s', (_what, text) => {
    expect(parseTraceContext(text, 'a=b')).toBeUndefined();
  });

  test.each([`cc-${TRACE}-${SPAN}-01`, `cc-${TRACE}-${SPAN}-01-what-comes-later`])(
    'of a later version has the parts that are known today: %s',
    (text) => {
      expect(parseTraceContext(text, undefined)).toEqual({ traceparent: PARENT });
    },
  );
});

describe('tracestate', () => {
  const keep = (text: string): string | undefined => parseTraceContext(PARENT, text)?.tracestate;
  const members = (count: number, chars: number): string =>
    Array.from({ length: count }, (_, n) => `k${n}=`.padEnd(chars, 'x')).join(',');

  test.each([
    'rojo=00f067aa0ba902b7',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'fw529a3039@dt=FfAAAAAAAAA, b_*-/=with space and !"#$%&()*+-./:;<>?@[]^_`{|}~',
    'a=1,,b=2',
    members(32, 15),
  ])('is kept unchanged: %s', (text) => {
    expect(keep(text)).toBe(text);
  });

  test.each([
    ['empty', ''],
    ['commas alone', ',,'],
    ['no value', 'a='],
    ['no key', '=a'],
    ['no equals sign', 'a'],
    ['an equals sign in the value', 'a=b=c'],
    ['an upper-case key', 'A=b'],
    ['a key twice', 'a=1,b=2,a=3'],
    ['a character that is not ASCII', 'a=é'],
    ['a tenant without a system', '1tenant@=b'],
    ['a key of 257 characters', `a${'b'.repeat(256)}=c`],
    ['a value of 257 characters', `a=${'b'.repeat(257)}`],
    ['33 members', members(33, 6)],
  ])('is ignored, and traceparent is kept: %s', (_what, text) => {
    expect(parseTraceContext(PARENT, text)).toEqual({ traceparent: PARENT });
  });

  test('of more than 512 characters has its first members, uncut', () => {
    expect(keep(members(4, 127))).toBe(members(4, 127));
    expect(keep(`${members(4, 127)},z=1`)).toBe(members(4, 127));
    expect(keep(members(20, 100))).toBe(members(5, 100).slice(0, 504));
  });
});
