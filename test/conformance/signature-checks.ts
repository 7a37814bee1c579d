/** The checks of the guide's section "The signature of a push" (L1). */
import { createHmac } from 'node:crypto';
import type { Check } from './check.ts';
import { NotScored, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import { requireObject } from './subject.ts';

const PREFIX = 'whsec_';

/** Has an agent receive a push; returns it with its signatures. */
async function signed(kit: Kit) {
  const agent = await kit.startAgent();
  requireObject(await kit.submit([agent.tag], { payload: { text: '你好', seed: kit.random(1_000) } }));
  const { headers, bytes } = await kit.until('the push', () => kit.pushesTo(agent)[0]);
  return { headers, bytes, signatures: headers['webhook-signature']?.split(' ') ?? [] };
}

/** Returns the signature of a push by each secret of the gateway, the newest first. */
async function expect(kit: Kit) {
  if (kit.pushSecrets.length === 0) throw new NotScored('The push secret was not given (PUSH_SECRET).');
  const { headers, bytes, signatures } = await kit.see(signed);
  const head = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  const expected = kit.pushSecrets.map((secret) => {
    const key = secret.startsWith(PREFIX)
      ? Buffer.from(secret.slice(PREFIX.length), 'base64')
      : Buffer.from(secret, 'utf8');
    return `v1,${createHmac('sha256', key).update(head).update(bytes).digest('base64')}`;
  });
  return { signatures, expected };
}

export const SIGNATURE_CHECKS: Readonly<Record<string, Check>> = {
  'signature.with-a-push-secret': async (kit) => {
    const { signatures, expected } = await expect(kit);
    requireThat(signatures.length > 0, 'The push has no `webhook-signature`.');
    const known = signatures.filter((one) => expected.includes(one));
    requireEqual(known, expected, 'Those of the given secrets in `webhook-signature`, newest first,');
  },
  'signature.each-is-v1-and': async (kit) => {
    const { signatures, expected } = await expect(kit);
    for (const one of signatures)
      requireThat(/^v1,[A-Za-z0-9+/]{43}=$/.test(one), `"${one}" is no signature of version 1.`);
    requireThat(
      signatures.some((one) => expected.includes(one)),
      'No signature is that of a given secret.',
    );
  },
  'signature.the-key-of-a': async (kit) => {
    const { signatures, expected } = await expect(kit);
    for (const [index, one] of expected.entries())
      requireThat(signatures.includes(one), `No signature is that of the ${index + 1}. given secret.`);
  },
};
