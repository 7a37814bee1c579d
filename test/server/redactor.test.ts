/** The redactor: a secret is found however it is written, and nothing else is touched. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor, REDACTED } from '../../server/system/redactor.ts';

const percentAll = (text: string, digits: 'upper' | 'lower'): string =>
  [...Buffer.from(text)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .map((hex) => `%${digits === 'upper' ? hex.toUpperCase() : hex}`)
    .join('');

/** The ways in which a secret gets into a text. */
const WAYS: Readonly<Record<string, (secret: string) => string>> = {
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
/** Text around a secret that cannot be mistaken for a part of it. */
const around = fc.constantFrom('', ' ', '\n', 'é ', '/?auth=', ' "', '" ', '好', ' <', '> ');

describe('secrets in text', () => {
  for (const [way, write] of Object.entries(WAYS)) {
    test(`${way}, they are taken out`, () => {
      fc.assert(
        fc.property(secrets, around, around, (secret, before, after) => {
          const redactor = createRedactor([secret]);
          const text = `${before}${write(secret)}${after}`;
          const clean = redactor.redactText(text);
          expect(redactor.holdsSecret(text)).toBe(true);
          expect(clean).toContain(REDACTED);
          expect(redactor.holdsSecret(clean)).toBe(false);
          // All that may be left of the secret, or gone beside it, are backslashes.
          const bare = (one: string) => one.replace(/\\|%(25)*5c/gi, '');
          expect(bare(clean)).toBe(bare(`${before}${REDACTED}${after}`));
        }),
        { numRuns: 200 },
      );
    });
  }

  test('every one of several, the longest first', () => {
    const { redactText } = createRedactor(['secret', 'secret-and-more', '', 'other']);
    expect(redactText('secret-and-more, secret, other, secrets')).toBe(
      `${REDACTED}, ${REDACTED}, ${REDACTED}, ${REDACTED}s`,
    );
  });

  test('without secrets every text stays as it is', () => {
    const none = createRedactor(['']);
    const some = createRedactor(['s3cr3t-value', '$^.*+?()[]{}|/\\']);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
        fc.pre(!text.includes('s3cr3t-value'));
        expect(none.redactText(text)).toBe(text);
        expect(some.redactText(text)).toBe(text);
        expect(none.holdsSecret(text)).toBe(false);
      }),
    );
  });

  test('a long hostile text costs little', () => {
    const redactor = createRedactor([
      '%%%%%%%%%%%%%%%%%%%%%%%%%%%%%a',
      '"""""""""""""""""""""""""""a',
      '\\\\\\\\\\\\\\\\\\\\a',
    ]);
    const startedMs = performance.now();
    for (const text of [
      '%'.repeat(20_000),
      '%25'.repeat(7_000),
      '"'.repeat(20_000),
      '\\"'.repeat(10_000),
      '\\'.repeat(20_000),
    ]) {
      expect(redactor.redactText(text)).toBe(text);
    }
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});

describe('secrets in data', () => {
  const redactor = createRedactor(['s3cr3t-value', '12345678']);

  test('in values, keys and numbers, at any depth', () => {
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
