/**
 * Valid settings: defaults, values of every setting, secrets from files, and the table of settings.
 */
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { DEFAULT_GATEWAY_AUTH, settingNames, settings } from '../../server/config/settings.ts';
import { accept, listMistakes, SECRET } from './environment.ts';

const REDIS = {
  tls: false,
  username: null,
  password: null,
  database: 0,
  at: { kind: 'one', endpoint: { host: 'redis.test', port: 6379 } },
};

describe('without any setting', () => {
  test('the gateway listens on a loopback address, with the contract’s limits', () => {
    expect(accept({}).config).toEqual({
      host: '127.0.0.1',
      port: 8080,
      gatewayAuth: [DEFAULT_GATEWAY_AUTH],
      adminAuth: ['generated-at-random-for-this-run'],
      isAdminAuthRandom: true,
      isGatewayAuthNamed: false,
      isAgentAuthRequired: false,
      areStrangersServed: false,
      push: { secrets: [], allow: [], deny: [] },
      corsOrigins: [],
      trustedProxies: [],
      isSecretPublic: true,
      allowedHosts: [],
      store: { kind: 'sqlite', file: './data/gateway.db' },
      redisDurability: 'disk',
      isMetricsPublic: false,
      consoleMode: 'on',
      logLevel: 'info',
      openTasksMax: 1_000_000,
      agentsMax: 20_000,
      connectionsMax: 30_000,
      keepTasksMs: 24 * 3_600_000,
      sessionEventsMax: 100_000,
      outputBytesMax: 268_435_456,
      drainMs: 0,
      shutdownMs: 5_000,
      secrets: ['generated-at-random-for-this-run'],
    });
  });

  test('the default secret in use is warned of, in capitals', () => {
    expect(accept({}).warnings).toEqual([
      expect.stringMatching(/^GATEWAY_AUTH: the default secret .* PUBLIC/),
    ]);
    expect(accept({ GATEWAY_AUTH: DEFAULT_GATEWAY_AUTH }).warnings).toHaveLength(1);
    expect(accept({ GATEWAY_AUTH: SECRET }).warnings).toEqual([]);
  });

  test('the administrator’s generated secret is different in each run', () => {
    const results = [1, 2, 3].map(() => readConfig({}));
    const secrets = results.map((result) => (result.ok ? result.config.adminAuth[0] : ''));
    expect(new Set(secrets).size).toBe(3);
    for (const secret of secrets) expect(secret).toMatch(/^[\w-]{32}$/);
  });
});

describe('with settings', () => {
  test('every setting is read', () => {
    const { config, warnings } = accept({
      HOST: '0.0.0.0',
      PORT: '0',
      GATEWAY_AUTH: 'gateway-secret-01 gateway-secret-00',
      ADMIN_AUTH: 'admin-secret-0001 admin-secret-0000',
      AGENT_AUTH: 'required',
      PUSH_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw push-secret-00000',
      PUSH_ALLOW: '10.0.0.0/8, fd00::/8',
      PUSH_DENY: '10.9.0.0/16,',
      TRUSTED_PROXIES: '127.0.0.1, fd00::/8',
      CORS_ORIGINS: 'https://app.example.com,http://localhost:3000',
      ALLOWED_HOSTS: 'gateway.test, 10.0.0.7',
      STORE: 'redis://:redis-password-01@redis.test',
      REDIS_DURABILITY: 'replica',
      METRICS_PUBLIC: 'true',
      CONSOLE: 'read-only',
      LOG_LEVEL: 'debug',
      OPEN_TASKS_MAX: '10',
      AGENTS_MAX: '11',
      CONNECTIONS_MAX: '14',
      KEEP_TASKS_HOURS: '0.5',
      SESSION_EVENTS_MAX: '15',
      OUTPUT_TOTAL_BYTES: '2000000',
      DRAIN_SECONDS: '4',
      SHUTDOWN_SECONDS: '17',
    });
    expect(config).toEqual({
      host: '0.0.0.0',
      port: 0,
      gatewayAuth: ['gateway-secret-01', 'gateway-secret-00'],
      adminAuth: ['admin-secret-0001', 'admin-secret-0000'],
      isAdminAuthRandom: false,
      isGatewayAuthNamed: false,
      isAgentAuthRequired: true,
      areStrangersServed: false,
      push: {
        secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'push-secret-00000'],
        allow: ['10.0.0.0/8', 'fd00::/8'],
        deny: ['10.9.0.0/16'],
      },
      corsOrigins: ['https://app.example.com', 'http://localhost:3000'],
      trustedProxies: ['127.0.0.1', 'fd00::/8'],
      isSecretPublic: false,
      allowedHosts: ['gateway.test', '10.0.0.7'],
      store: { kind: 'redis', address: { ...REDIS, password: 'redis-password-01' } },
      redisDurability: 'replica',
      isMetricsPublic: true,
      consoleMode: 'read-only',
      logLevel: 'debug',
      openTasksMax: 10,
      agentsMax: 11,
      connectionsMax: 14,
      keepTasksMs: 1_800_000,
      sessionEventsMax: 15,
      outputBytesMax: 2_000_000,
      drainMs: 4_000,
      shutdownMs: 17_000,
      secrets: [
        ...['gateway-secret-01', 'gateway-secret-00', 'admin-secret-0001', 'admin-secret-0000'],
        ...['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'push-secret-00000'],
        ...['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'redis-password-01'],
      ],
    });
    expect(warnings.map((warning) => warning.split(':')[0])).toEqual(['PUSH_SECRET', 'METRICS_PUBLIC']);
  });

  test('one that loses what is stored is warned of', () => {
    expect(accept({ GATEWAY_AUTH: SECRET, STORE: 'memory:' }).warnings).toEqual([
      expect.stringMatching(/^STORE: memory: loses/),
    ]);
  });

  test('an empty value counts as absent, but an empty secret is a mistake', () => {
    const empty = Object.fromEntries(
      settingNames().flatMap((name) => (settings[name].secret ? [] : [[name, '']])),
    );
    expect(accept(empty).config).toEqual(accept({}).config);
    for (const name of settingNames().filter((setting) => settings[setting].secret)) {
      expect(listMistakes({ [name]: '' })[0], name).toBe(`${name}: is empty; write a secret or leave it out`);
    }
  });

  test('hosts and stores are parsed in all their forms', () => {
    for (const [text, host] of [
      ['::1', '::1'],
      ['[::1]', '::1'],
      ['localhost', 'localhost'],
      ['127.0.0.2', '127.0.0.2'],
    ]) {
      expect(accept({ HOST: text ?? '' }).config.host).toBe(host);
    }
    for (const text of ['sqlite:gateway.db', 'sqlite:/var/lib/gateway.db', 'sqlite:./a:b.db']) {
      expect(accept({ STORE: text }).config.store).toEqual({ kind: 'sqlite', file: text.slice(7) });
    }
    const at = (host: string, port = 6379) => ({ kind: 'one', endpoint: { host, port } });
    for (const [text, address] of [
      ['redis://redis.test', REDIS],
      ['valkey://redis.test:6379/', REDIS],
      ['rediss://10.0.0.1:7000/3', { ...REDIS, tls: true, database: 3, at: at('10.0.0.1', 7000) }],
      ['redis://[::1]:7000', { ...REDIS, at: at('::1', 7000) }],
      ['redis://:p%40ss@redis.test', { ...REDIS, password: 'p@ss' }],
      ['redis://me:p:w@redis.test', { ...REDIS, username: 'me', password: 'p:w' }],
      ['redis://me@redis.test', { ...REDIS, username: 'me' }],
      [
        'valkeys+sentinel://a,b:7000/main/2',
        {
          ...REDIS,
          tls: true,
          database: 2,
          at: {
            kind: 'sentinel',
            endpoints: [
              { host: 'a', port: 26_379 },
              { host: 'b', port: 7_000 },
            ],
            master: 'main',
          },
        },
      ],
    ] as const) {
      const { store } = accept({ STORE: text, ADMIN_AUTH: SECRET }).config;
      expect(store, text).toEqual({ kind: 'redis', address });
    }
  });
});

describe('secrets from files', () => {
  test('a file contains the secret and at most one newline', () => {
    for (const file of ['/run/secrets/gateway', '/run/secrets/windows']) {
      expect(accept({ GATEWAY_AUTH_FILE: file }).config.gatewayAuth).toEqual([SECRET]);
    }
    const pushed = accept({ PUSH_SECRET_FILE: '/run/secrets/gateway' });
    expect(pushed.config.push.secrets).toEqual([SECRET]);
    expect(pushed.config.secrets).toContain(SECRET);
  });

  test('one file may have several, each in a line with its name', () => {
    const both = { GATEWAY_AUTH_FILE: '/run/secrets/both', ADMIN_AUTH_FILE: '/run/secrets/both' };
    const { config } = accept(both);
    expect(config).toMatchObject({
      gatewayAuth: [SECRET],
      adminAuth: ['the=admin-secret-of-it'],
      port: 8080,
    });
    expect(listMistakes({ ...both, PUSH_SECRET_FILE: '/run/secrets/both' })).toEqual([
      'PUSH_SECRET_FILE: names a file with lines of other settings; write a line PUSH_SECRET=… into it',
    ]);
  });

  test('a mistake with a file names the file’s variable', () => {
    expect(listMistakes({ ADMIN_AUTH_FILE: '/nowhere' })).toEqual([
      'ADMIN_AUTH_FILE: cannot be read (ENOENT); write the path of a file that has a secret alone, or a line ADMIN_AUTH=…',
    ]);
    expect(listMistakes({ ADMIN_AUTH_FILE: '/run/secrets/empty' })[0]).toMatch(/^ADMIN_AUTH_FILE: is empty/);
    expect(listMistakes({ ADMIN_AUTH_FILE: '/run/secrets/spaces' })[0]).toMatch(
      /^ADMIN_AUTH_FILE: has more than one space/,
    );
    expect(listMistakes({ ADMIN_AUTH_FILE: '' })[0]).toMatch(/^ADMIN_AUTH_FILE: cannot be read/);
    expect(listMistakes({ ADMIN_AUTH: SECRET, ADMIN_AUTH_FILE: '/run/secrets/gateway' })).toEqual([
      'ADMIN_AUTH_FILE: ADMIN_AUTH is set as well; leave one of the two out',
    ]);
  });

  test('a file may have two secrets on a line, the newest first', () => {
    expect(accept({ GATEWAY_AUTH_FILE: '/run/secrets/two' }).config.gatewayAuth).toEqual([
      SECRET,
      'old-secret',
    ]);
    expect(accept({ ADMIN_AUTH_FILE: '/run/secrets/named-two' }).config.adminAuth).toEqual([
      SECRET,
      'old-secret',
    ]);
    expect(listMistakes({ GATEWAY_AUTH_FILE: '/run/secrets/lines' })[0]).toMatch(
      /^GATEWAY_AUTH_FILE: .*one space between them/,
    );
  });

  test('a file may have the whole address of the store, with its password', () => {
    const { config } = accept({ STORE_FILE: '/run/secrets/store', STORE: '', ADMIN_AUTH: SECRET });
    expect(config.store).toEqual({ kind: 'redis', address: { ...REDIS, password: 'p@ss-of-redis' } });
    expect(config.secrets).toEqual(expect.arrayContaining(['p@ss-of-redis', 'p%40ss-of-redis']));
    expect(listMistakes({ STORE_FILE: '/run/secrets/store', STORE: 'memory:' })).toEqual([
      'STORE_FILE: STORE is set as well; leave one of the two out',
    ]);
    expect(listMistakes({ STORE_FILE: '/nowhere' })[0]).toMatch(
      /^STORE_FILE: cannot be read \(ENOENT\); write the path of a file that has the address of a store alone/,
    );
    expect(listMistakes({ STORE_FILE: '/run/secrets/empty' })[0]).toBe(
      'STORE_FILE: is empty; write the address of a store or leave it out',
    );
    // A file with a password alone: no message repeats it.
    const [mistake = ''] = listMistakes({ STORE_FILE: '/run/secrets/gateway' });
    expect(mistake).toMatch(/^STORE_FILE: its text is not a store; write sqlite:FILE/);
    expect(mistake).not.toContain(SECRET);
  });

  test('only secrets and the store are read from files', () => {
    expect(accept({ PORT_FILE: '/run/secrets/gateway' }).config.port).toBe(8080);
  });
});

describe('the table of settings', () => {
  test('has 24', () => {
    expect(settingNames()).toHaveLength(24);
  });

  test('each setting has a name in capitals with its unit last, a valid default, and a sentence of description', () => {
    for (const name of settingNames()) {
      const setting = settings[name];
      expect(name).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      if (setting.unit !== null) expect(name.endsWith(`_${setting.unit.toUpperCase()}`), name).toBe(true);
      if (setting.default !== null) expect(() => setting.parse(setting.default ?? ''), name).not.toThrow();
      expect(setting.description, name).toMatch(/^[A-Z].+\.$/);
      expect(setting.description, name).not.toContain('|');
    }
  });
});
