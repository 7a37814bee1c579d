/** Payloads from arguments, files and standard input, and the usage errors for wrong ones. */
import { describe, expect, test } from 'vitest';
import { readPayload } from '../../sdk/cli/arguments/payload.ts';
import { decodeText } from '../../sdk/cli/decoding.ts';

const files: Readonly<Record<string, Uint8Array>> = {
  'plain.json': Buffer.from('{"name":"世界","n":1}'),
  'bom.json': Buffer.from('\ufeff{"name":"世界"}'),
  'utf16le.json': Buffer.from('\ufeff{"name":"世界"}', 'utf16le'),
  'utf16be.json': Buffer.from('\ufeff{"name":"x"}', 'utf16le').swap16(),
  'utf16-unmarked.json': Buffer.from('{"name":"x"}', 'utf16le'),
  'latin1.json': Buffer.from('{"name":"é"}', 'latin1'),
  'array.json': Buffer.from('[1]'),
  'null.json': Buffer.from('null'),
  'empty.json': Buffer.from(' \n'),
  'broken.json': Buffer.from('{"a":\n\n'),
  'snowflake.json': Buffer.from('{"ids":[1,653247040368672768]}'),
  'odd.json': Buffer.from('{"__proto__":{"a":1}}'),
};

function read(parts: readonly string[], stdin = '{"from":"stdin"}'): Promise<Record<string, unknown>> {
  return readPayload(parts, {
    async readFile(path) {
      const bytes = files[path];
      if (bytes) return bytes;
      throw Object.assign(new Error('missing'), { code: 'ENOENT' });
    },
    readStdin: async () => Buffer.from(stdin),
  });
}

describe('a payload', () => {
  test.each([
    [[], {}],
    [['name=Ada'], { name: 'Ada' }],
    [['name=世界 👋'], { name: '世界 👋' }],
    [['a='], { a: '' }],
    [['a=b=c', 'url=http://x/?q=1:=2'], { a: 'b=c', url: 'http://x/?q=1:=2' }],
    [
      ['n:=47', 'list:=[1,"二"]', 'no:=null', 'deep:={"a":{"b":1}}'],
      { n: 47, list: [1, '二'], no: null, deep: { a: { b: 1 } } },
    ],
    [['big:=9007199254740992', 'small:=-0.1e-5', 'e:=1E3'], { big: 2 ** 53, small: -1e-6, e: 1000 }],
    [['a:=1.0', 'b:=1e3', 'c:=0.1', 'd:=-0', 'e:=1e21'], { a: 1, b: 1000, c: 0.1, d: -0, e: 1e21 }],
    [['text:="12345678901234567890 \\" 1e400"'], { text: '12345678901234567890 " 1e400' }],
    [['text=two\nlines'], { text: 'two\nlines' }],
    [['a:b=1'], { 'a:b': '1' }],
    [['@plain.json'], { name: '世界', n: 1 }],
    [['@bom.json'], { name: '世界' }],
    [['-'], { from: 'stdin' }],
    [['n:=2', '@plain.json'], { name: '世界', n: 2 }],
    [['{"text":"a=b","n":{"m":1}}'], { text: 'a=b', n: { m: 1 } }],
    [['n=x', '{"n":1,"name":"世界"}'], { n: 'x', name: '世界' }],
    [['@plain.json', '-', 'n=x'], { name: '世界', n: 'x', from: 'stdin' }],
  ])('%j is %j', async (parts, payload) => {
    expect(await read(parts)).toEqual(payload);
  });

  test('keeps keys that are special in JavaScript', async () => {
    expect(JSON.stringify(await read(['@odd.json', 'constructor=x']))).toBe(
      '{"__proto__":{"a":1},"constructor":"x"}',
    );
    expect(JSON.stringify(await read(['__proto__=x']))).toBe('{"__proto__":"x"}');
  });

  test.each([
    [['name'], '"name" is not part of a payload'],
    [['{"text":'], "The JSON in the argument can't be used"],
    [['=x'], '"=x" is not part of a payload'],
    [[':=1'], 'is not part of a payload'],
    [['a=1', 'a=2'], 'The key "a" is given twice'],
    [['a:=x'], 'The JSON in the value of "a" can\'t be used'],
    [['a:='], 'The JSON in the value of "a" can\'t be used'],
    [['a:=12345678901234567890'], "the number 12345678901234567890 can't be kept exactly"],
    [['a:=[1,{"b":-9007199254740993}]'], "the number -9007199254740993 can't be kept exactly"],
    [['a:=1e400'], "the number 1e400 can't be kept exactly"],
    // Each is a double, but would be written as another number, such as 653247040368672800.
    [['a:=653247040368672768'], "the number 653247040368672768 can't be kept exactly: give it as a string"],
    [['a:=1152921504606846976'], "the number 1152921504606846976 can't be kept exactly"],
    [['{"a":{"b":18446744073709551616}}'], "the number 18446744073709551616 can't be kept exactly"],
    [['@snowflake.json'], "the number 653247040368672768 can't be kept exactly"],
    [['-', '-'], 'can be read only once'],
    [['@missing.json'], 'there is no such file'],
    [['@utf16le.json'], '"utf16le.json" is UTF-16, not UTF-8. Save it as UTF-8'],
    [['@utf16be.json'], 'is UTF-16'],
    [['@utf16-unmarked.json'], 'is UTF-16'],
    [['@latin1.json'], '"latin1.json" is not UTF-8'],
    [['@array.json'], 'is an array'],
    [['@null.json'], 'is null'],
    [['@empty.json'], 'The payload in "empty.json" is empty'],
    [['@broken.json'], 'The JSON in "broken.json" can\'t be used'],
  ])('%j is a usage error: %s', async (parts, words) => {
    const error = await read(parts).catch((caught) => caught);
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining(words) });
    expect(error.message).not.toContain('\n');
  });

  test('standard input is decoded like a file', async () => {
    expect(await read(['-'], '\ufeff{"a":"好"}')).toEqual({ a: '好' });
    await expect(read(['-'], '')).rejects.toThrow('The payload in standard input is empty');
  });
});

test('a text is decoded as UTF-8 with or without a byte-order mark, even if it has one byte or none', () => {
  expect(decodeText(Buffer.from(''), 'file')).toBe('');
  expect(decodeText(Buffer.from('\ufeff'), 'file')).toBe('');
  expect(decodeText(Buffer.from('1'), 'file')).toBe('1');
  expect(() => decodeText(Buffer.from([0xff, 0xfe]), 'file')).toThrow('file is UTF-16');
});
