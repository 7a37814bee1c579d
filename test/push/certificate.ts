/**
 * Creates self-signed certificates for tests. The DER is built here, so that no key is kept in the
 * repository.
 */
import { generateKeyPairSync, sign } from 'node:crypto';

export type Certificate = { readonly key: string; readonly cert: string };

const EC_SHA256 = sequence(objectId('2a8648ce3d040302'));

/** Creates a certificate for the host, which is its own authority and is valid between the two times. */
export function makeCertificate(host: string, fromMs: number, untilMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const commonName = sequence(objectId('550403'), element(0x0c, Buffer.from(host)));
  const name = sequence(element(0x31, commonName));
  const alternativeName = sequence(element(0x82, Buffer.from(host)));
  const authority = sequence(element(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(objectId('551d11'), element(0x04, alternativeName)),
    sequence(objectId('551d13'), element(0x04, authority)),
  );
  const content = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.from([1])),
    EC_SHA256,
    name,
    sequence(time(fromMs), time(untilMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, extensions),
  );
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]));
  const der = sequence(content, EC_SHA256, signature);
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, ...parts);
}

function objectId(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'));
}

/** GeneralizedTime, in seconds. */
function time(ms: number): Buffer {
  const digits = new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return element(0x18, Buffer.from(digits));
}
