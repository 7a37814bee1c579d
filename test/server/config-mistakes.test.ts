/**
 * Invalid settings: every mistake is reported at once, says what to write instead, and contains no secret.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { DEFAULT_GATEWAY_AUTH, settingNames, settings } from '../../server/config/settings.ts';
import { isLoopback } from '../../server/net/networks.ts';
import { accept, deps, listMistakes, SECRET } from './environment.ts';

describe('mistakes', () => {
  test('all are reported at once, each with its setting and what to write instead', () => {
    const wrong = {
      HOST: 'not a host',
      PORT: '65536',
      GATEWAY_AUTH: 'with more spaces',
      ADMIN_AUTH: '',
      AGENT_AUTH: 'yes',
      PUSH_SECRET: 'whsec_not base64',
      PUSH_ALLOW: '10.0.0.0/8,agents.local',
      CORS_ORIGINS: '*',
      STORE: 'redis://user:password@redis:6379:1',
      LOG_LEVEL: 'verbose',
      OPEN_TASKS_MAX: '4k',
      KEEP_TASKS_HOURS: '0',
      OUTPUT_TOTAL_BYTES: '256 MiB',
      SHUTDOWN_SECONDS: '-1',
    };
    const mistakes = listMistakes(wrong);
    expect(mistakes.map((mistake) => mistake.slice(0, mistake.indexOf(':'))).toSorted()).toEqual(
      Object.keys(wrong).toSorted(),
    );
    for (const mistake of mistakes) expect(mistake).toMatch(/^[A-Z_]+: .+; (write|set) .+$/);
    expect(mistakes.join('\n')).toContain('STORE: has an invalid host or port; write redis://HOST:6379');
  });

  test('names that are no settings are listed beside the mistakes, each with the nearest setting', () => {
    expect(listMistakes({ GATEWAY_AUTHH: SECRET, STORES: 'memory:', PORT: 'x', HOST: '0.0.0.0' })).toEqual([
      'PORT: "x" is not valid; write a whole number from 0 to 65535',
      expect.stringMatching(/^GATEWAY_AUTH: the default secret is public and HOST 0\.0\.0\.0 can be reached/),
      'GATEWAY_AUTHH: is not a setting and has no effect; did you mean GATEWAY_AUTH?',
      'STORES: is not a setting and has no effect; did you mean STORE?',
    ]);
    expect(listMistakes({ STORES: 'memory:' })).toEqual([]);
  });

  test('numbers are plain decimals, whole for counts, and within limits', () => {
    for (const text of [
      ...['1e3', '0x10', ' 5', '5 ', '1.5', '+5', '1_000', 'NaN', 'Infinity', '0', '99999999999'],
    ]) {
      expect(listMistakes({ OPEN_TASKS_MAX: text })[0], text).toMatch(
        /^OPEN_TASKS_MAX: .*write a whole number from 1 to 10000000$/,
      );
    }
    expect(listMistakes({ SHUTDOWN_SECONDS: '601' })[0]).toMatch(/whole number of seconds from 1 to 600$/);
  });

  test('every number may be the least and the most that its mistake names', () => {
    let count = 0;
    for (const name of settingNames()) {
      const [, from, to] = /from (\d+) to (\d+)$/.exec(listMistakes({ [name]: 'x' })[0] ?? '') ?? [];
      if (from === undefined || to === undefined) continue;
      count += 1;
      for (const text of [from, to]) expect(listMistakes({ [name]: text }), `${name}=${text}`).toEqual([]);
    }
    expect(count).toBeGreaterThan(5);
  });

  test('invalid hosts, origins and stores are refused', () => {
    for (const text of ['http://localhost', '127.0.0.1:80', 'a_b', '-a', 'a..b', '::g', 'a'.repeat(254)]) {
      expect(listMistakes({ HOST: text })[0], text).toMatch(/^HOST: /);
    }
    for (const text of [
      ...['https://a.test/', 'https://a.test/path', 'a.test', 'null', 'ftp://a.test', 'https://A.test'],
      ...['https://a.test:443'],
    ]) {
      expect(listMistakes({ CORS_ORIGINS: text })[0], text).toMatch(/^CORS_ORIGINS: /);
    }
    for (const text of [
      ...['sqlite:', 'sqlite', 'sqlite://gateway.db', 'postgres://u:p@db/x', './gateway.db', 'memory'],
      ...['sqlite:a\0b'],
    ]) {
      expect(listMistakes({ STORE: text })[0], text).toMatch(/^STORE: /);
    }
  });

  test('invalid addresses of a Redis are refused with what is wrong', () => {
    for (const [STORE, what] of [
      ['redis://', 'an invalid host or port'],
      ['redis://host:0', 'an invalid host or port'],
      ['redis://host:65536', 'an invalid host or port'],
      ['redis:host', 'not the address of a Redis'],
      ['redis://a,b', 'several hosts'],
      ['redis://host/x', 'a database that is not a number'],
      ['redis://host/1/2', 'a database that is not a number'],
      ['redis://host?tls=1', 'a query or a fragment'],
      ['redis://u:%zz@host', 'credentials that are not percent-encoded'],
      ['redis+sentinel://a,b', 'does not name the master'],
    ] as const) {
      expect(listMistakes({ STORE, ADMIN_AUTH: SECRET })[0], STORE).toMatch(/^STORE: /);
      expect(listMistakes({ STORE, ADMIN_AUTH: SECRET })[0], STORE).toContain(what);
    }
  });

  test('a shared store requires ADMIN_AUTH, and a password of its own', () => {
    const STORE = 'redis://:a-password-of-the-redis@host';
    expect(listMistakes({ STORE })).toEqual([
      expect.stringMatching(/^ADMIN_AUTH: all gateways on a shared store/),
    ]);
    const env = { STORE, ADMIN_AUTH: SECRET };
    expect(listMistakes(env)).toEqual([]);
    expect(listMistakes({ ...env, GATEWAY_AUTH: 'a-password-of-the-redis' })).toEqual([
      'STORE: its password is the same as GATEWAY_AUTH; give Redis one of its own',
    ]);
  });

  test('a secret may be two with one space between them, and no more', () => {
    for (const text of [
      ...['a-secret-of-16-chars ', ' a-secret-of-16-chars', 'one  two', 'one\ttwo', 'one\ntwo'],
    ]) {
      expect(listMistakes({ GATEWAY_AUTH: text })[0], JSON.stringify(text)).toMatch(
        /^GATEWAY_AUTH: .*; write /,
      );
    }
    expect(listMistakes({ GATEWAY_AUTH: 'one two three' })).toEqual([
      'GATEWAY_AUTH: has more than one space; write one secret, or the new one, one space and the old one',
    ]);
    expect(listMistakes({ PUSH_SECRET: `${SECRET} whsec_no*base64` })[0]).toMatch(
      /^PUSH_SECRET: starts with whsec_/,
    );
  });

  test('no message contains a secret', () => {
    const canary = 'canary 91c2 x';
    const env = Object.fromEntries(
      settingNames()
        .filter((name) => settings[name].secret)
        .map((name) => [name, canary]),
    );
    const stores = [`postgres://user:${canary}@db`, `redis://:${canary}@redis:x`, `redis://${canary}@a,b`];
    for (const STORE of stores) {
      const mistakes = listMistakes({ ...env, STORE, CORS_ORIGINS: `https://user:${canary}@a.test` });
      expect(mistakes.length).toBeGreaterThanOrEqual(5);
      expect(mistakes.join('\n')).not.toContain('91c2');
    }
    const shared = { GATEWAY_AUTH: 'canary-91c2', ADMIN_AUTH: 'canary-91c2', PUSH_SECRET: 'canary-91c2' };
    expect(listMistakes(shared)).toHaveLength(2);
    expect(listMistakes(shared).join('\n')).not.toContain('91c2');
  });

  test('for any environment the result is a configuration or a list of mistakes', () => {
    const names = settingNames().flatMap((name) => [name, `${name}_FILE`]);
    const anything = fc.oneof(
      fc.string(),
      fc.constantFrom('0', '-1', '127.0.0.1', 'sqlite:x', ',', 'a,b', '\n', '::/0'),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), anything), (env) => {
        const result = readConfig(env, deps);
        if (result.ok) return;
        expect(result.mistakes.length).toBeGreaterThan(0);
        for (const mistake of result.mistakes) expect(mistake).toMatch(/^[A-Z_]+: [^\n]+$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('combinations of settings', () => {
  test('the public default secret is valid on a loopback host only', () => {
    for (const HOST of [
      ...['0.0.0.0', '::', '192.168.1.5', 'gateway.local', '128.0.0.1', 'localhost.example.com'],
    ]) {
      expect(listMistakes({ HOST })[0], HOST).toMatch(
        /^GATEWAY_AUTH: the default secret is public .* set a secret/,
      );
      expect(listMistakes({ HOST, GATEWAY_AUTH: DEFAULT_GATEWAY_AUTH })).toHaveLength(1);
      const rotating = { HOST, GATEWAY_AUTH: `${SECRET} ${DEFAULT_GATEWAY_AUTH}` };
      expect(listMistakes(rotating)[0]).toMatch(/^GATEWAY_AUTH: the default secret is public/);
      expect(accept({ HOST, GATEWAY_AUTH: SECRET }).config.host).toBe(HOST);
    }
    for (const HOST of ['127.0.0.1', '127.8.9.1', '::1', 'localhost', 'LOCALHOST']) {
      expect(accept({ HOST }).config.gatewayAuth, HOST).toEqual([DEFAULT_GATEWAY_AUTH]);
      expect(isLoopback(HOST)).toBe(true);
    }
  });

  test('no two purposes share a secret', () => {
    const pairs = [
      ['GATEWAY_AUTH', 'ADMIN_AUTH'],
      ['GATEWAY_AUTH', 'PUSH_SECRET'],
      ['ADMIN_AUTH', 'PUSH_SECRET'],
    ] as const;
    for (const [first, second] of pairs) {
      const env = { [first]: SECRET, [second]: SECRET };
      expect(listMistakes(env)).toEqual([`${second}: is the same as ${first}; give it a secret of its own`]);
      const secrets = {
        GATEWAY_AUTH: 'g-secret-of-its-own',
        ADMIN_AUTH: 'a-secret-of-its-own',
        PUSH_SECRET: 'p-secret-of-its-own',
      };
      const crossed = listMistakes({ ...secrets, [first]: `${secrets[first]} ${secrets[second]}` });
      expect(crossed).toHaveLength(1);
    }
    expect(listMistakes({ ADMIN_AUTH: DEFAULT_GATEWAY_AUTH })).toHaveLength(1);
  });
});

test('a push secret that libraries read as another key is warned of, with what to give to agents', () => {
  const text = accept({ PUSH_SECRET: 'a text of twenty signs'.replaceAll(' ', '-') }).warnings.join();
  expect(text).toContain('PUSH_SECRET: has no whsec_ before it, so it is used as text');
  expect(text).toContain('"$(printf %s "$PUSH_SECRET" | base64 -w 0)"');
  expect(accept({ PUSH_SECRET: 'whsk_c2l4dGVlbi1ieXRlcy1vZi1rZXk=' }).warnings.join()).toContain(
    'whsk_ and whpk_',
  );
  const old = accept({
    PUSH_SECRET: 'whsec_c2l4dGVlbi1ieXRlcy1vZi1rZXk= an-old-text-of-the-past',
  }).warnings.join();
  expect(old).toContain('PUSH_SECRET: the second secret has no whsec_ before it');
  expect(old).toContain('PUSH_SECRET#* }" | base64 -w 0)"');
  const readable = accept({ PUSH_SECRET: 'whsec_c2l4dGVlbi1ieXRlcy1vZi1rZXk=' });
  expect(readable.warnings.join()).not.toContain('PUSH_SECRET');
});
