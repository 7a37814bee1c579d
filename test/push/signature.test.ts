/** Signatures: the published test vector, a receiver written from the specification, and rotation. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSigner, isSigningSecret } from '../../server/push/signature.ts';

/** Verifies as a receiver does: any signature in the header may be the right one. */
function verify(key: Buffer, id: string, timestamp: number, body: Buffer, header: string): boolean {
  const expected = createHmac('sha256', key)
    .update(`${id}.${timestamp}.${body.toString('utf8')}`)
    .digest();
  return header
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
    .some((bytes) => bytes.length === expected.length && timingSafeEqual(bytes, expected));
}

describe('signatures of pushes', () => {
  test('the published test vector is reproduced', () => {
    const sign = createSigner(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']);
    const body = Buffer.from('{"test": 2432232314}');
    expect(sign('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, body)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  test('a secret that is plain text is used as its bytes', () => {
    const body = Buffer.from('{}');
    const header = createSigner(['geheim-ü'])('a', 1, body) ?? '';
    expect(verify(Buffer.from('geheim-ü', 'utf8'), 'a', 1, body, header)).toBe(true);
  });

  test('without a secret nothing is signed', () => {
    expect(createSigner([])('id', 1, Buffer.from('{}'))).toBeNull();
  });

  test('with two secrets a receiver that has either can verify', () => {
    const [present, previous] = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'an older secret, as text'];
    const body = Buffer.from('{"reply":"好 ✓"}');
    const header = createSigner([present, previous])('id-1', 1_700_000_000, body) ?? '';
    expect(header.split(' ')).toHaveLength(2);
    expect(verify(Buffer.from(present.slice(6), 'base64'), 'id-1', 1_700_000_000, body, header)).toBe(true);
    expect(verify(Buffer.from(previous), 'id-1', 1_700_000_000, body, header)).toBe(true);
    expect(verify(Buffer.from('another'), 'id-1', 1_700_000_000, body, header)).toBe(false);
    expect(verify(Buffer.from(previous), 'id-2', 1_700_000_000, body, header)).toBe(false);
    expect(verify(Buffer.from(previous), 'id-1', 1_700_000_001, body, header)).toBe(false);
    expect(verify(Buffer.from(previous), 'id-1', 1_700_000_000, Buffer.from('{}'), header)).toBe(false);
  });

  test('after whsec_ a secret must be base64', () => {
    for (const right of [
      'plain',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'whsec_YWJjZA==',
      'whsec_YWJjZA',
      'whsec_YWJjZGU=',
    ]) {
      expect(isSigningSecret(right), right).toBe(true);
    }
    for (const wrong of [
      'whsec_',
      'whsec_a',
      'whsec_no-base64!',
      'whsec_YWJjZ',
      'whsec_YWJjZA===',
      'whsec_==',
    ]) {
      expect(isSigningSecret(wrong), wrong).toBe(false);
    }
  });
});
