/** The redactor: a secret is found in every encoding, and other text stays unchanged. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor, REDACTED } from '../../server/system/redactor.ts';

const percentAll = (text: string, digits: 'upper' | 'lower'): string =>
  [...Buffer.from(text)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .map((hex) => `%${digits === 'upper' ? hex.toUpperCase() : hex}`)
    .join('');

/** Encodings in which a secret may occur in a text. */
const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  'in a query': encodeURIComponent,
  'in a form': (secret) => new URLSearchParams({ auth: secret }).toString().slice('auth='.length),
  'percent-encoded throughout': (secret) => percentAll(secret, 'upper'),
  'percent-encoded in small letters': (secret) => percentAll(secret, 'lower'),
  'percent-encoded twice': (secret) => encodeURIComponent(percentAll(secret, 'upper')),
  'percent-encoded in part': (secret) => percentAll(secret.slice(0, 3), 'lower') + secret.slice(3),
  'in JSON': (secret) => JSON.stringify(secret).slice(1, -1),
  'in JSON in JSON': (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'as a query in JSON': (secret) => JSON.stringify(encodeURIComponent(secret)).slice(1, -1),
};

const secrets = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 8,
  maxLength: 64,
});
/** Text around a secret that cannot be part of it. */
const around = fc.constantFrom('', ' ', '\n', 'é ', '/?auth=', ' "', '" ', '好', ' <', '> ');

describe('secrets in text', () => {
  for (const [name, encode] of Object.entries(ENCODINGS)) {
    test(`${name}, they are removed`, () => {
      fc.assert(
        fc.property(secrets, around, around, (secret, before, after) => {
          const redactor = createRedactor([secret]);
          const text = `${before}${encode(secret)}${after}`;
          const clean = redactor.redactText(text);
          expect(redactor.containsSecret(text)).toBe(true);
          expect(clean).toContain(REDACTED);
          expect(redactor.containsSecret(clean)).toBe(false);
          // Only backslashes may remain of the secret, or be removed beside it.
          const bare = (part: string) => part.replace(/\\|%(25)*5c/gi, '');
          expect(bare(clean)).toBe(bare(`${before}${REDACTED}${after}`));
        }),
        { numRuns: 200 },
      );
    });
  }

  test('every one of several is removed, the longest first', () => {
    const { redactText } = createRedactor(['long-secret', 'long-secret-and-more', '', 'otherwise']);
    expect(redactText('long-secret-and-more, long-secret, otherwise, long-secrets')).toBe(
      `${REDACTED}, ${REDACTED}, ${REDACTED}, ${REDACTED}s`,
    );
  });

  test('one under 8 characters is removed where it stands alone, and every other word stays', () => {
    const short = createRedactor(['a', 'secret7']);
    expect(short.redactText('a task of an agent, "a", auth=a&b, pass:secret7, secret77, ä a')).toBe(
      `${REDACTED} task of an agent, "${REDACTED}", auth=${REDACTED}&b, pass:${REDACTED}, secret77, ä ${REDACTED}`,
    );
    expect(short.redactText('%61 agent, auth=%61gent, \\"secret%37\\"')).toBe(
      `${REDACTED} agent, auth=%61gent, \\"${REDACTED}\\"`,
    );
    expect(createRedactor(['!x']).redactText('auth=!x, a!x!')).toBe(`auth=${REDACTED}, a${REDACTED}!`);
    expect(createRedactor(['secret78']).redactText('mysecret789')).toBe(`my${REDACTED}9`);
  });

  test('a text without secrets stays as it is', () => {
    const withoutSecrets = createRedactor(['']);
    const withSecrets = createRedactor(['s3cr3t-value', '$^.*+?()[]{}|/\\']);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
        fc.pre(!text.includes('s3cr3t-value'));
        expect(withoutSecrets.redactText(text)).toBe(text);
        expect(withSecrets.redactText(text)).toBe(text);
        expect(withoutSecrets.containsSecret(text)).toBe(false);
      }),
    );
  });

  // An expression that tries every encoding of a character would not end.
  test('a long hostile text comes out as it is', () => {
    const redactor = createRedactor([
      '%%%%%%%%%%%%%%%%%%%%%%%%%%%%%a',
      '"""""""""""""""""""""""""""a',
      '\\\\\\\\\\\\\\\\\\\\a',
    ]);
    for (const text of [
      '%'.repeat(20_000),
      '%25'.repeat(7_000),
      '"'.repeat(20_000),
      '\\"'.repeat(10_000),
      '\\'.repeat(20_000),
    ]) {
      expect(redactor.redactText(text)).toBe(text);
    }
  });
});

describe('secrets in data', () => {
  const redactor = createRedactor(['s3cr3t-value', '12345678']);

  test('are removed from values, keys and numbers, at any depth', () => {
    const data = {
      a: ['x s3cr3t-value', { 's3cr3t-value': 12345678, n: 123456789 }],
      b: null,
      c: true,
      d: '12345678',
    };
    expect(redactor.redactData(data)).toEqual({
      a: [`x ${REDACTED}`, { [REDACTED]: REDACTED, n: 123456789 }],
      b: null,
      c: true,
      d: REDACTED,
    });
  });

  test('a key called __proto__ stays a key', () => {
    const data: unknown = JSON.parse('{"__proto__":{"polluted":"s3cr3t-value"}}');
    expect(JSON.stringify(redactor.redactData(data))).toBe(`{"__proto__":{"polluted":"${REDACTED}"}}`);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
