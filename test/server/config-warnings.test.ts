/** What the start warns of: settings that work but should not stay, and variables that have no effect. */
import { describe, expect, test } from 'vitest';
import { DEFAULT_GATEWAY_AUTH } from '../../server/config/settings.ts';
import { readPages } from '../harness/readme-blocks.ts';
import { accept, listMistakes, SECRET } from './environment.ts';

describe('warnings', () => {
  test('a secret short enough to be guessed is warned of', () => {
    expect(accept({ GATEWAY_AUTH: 'rather-short' }).warnings).toEqual([
      'GATEWAY_AUTH: is short enough to be guessed; write at least 16 characters',
    ]);
    expect(accept({ GATEWAY_AUTH: 'short' }).warnings).toEqual([
      'GATEWAY_AUTH: is short enough to be guessed, and the log is not searched for it inside words; write at least 16 characters',
    ]);
  });

  test('of two secrets, each that is short enough to be guessed is warned of', () => {
    expect(accept({ GATEWAY_AUTH: `${SECRET} rather-short` }).warnings).toEqual([
      'GATEWAY_AUTH: the second secret is short enough to be guessed; write at least 16 characters',
    ]);
    expect(accept({ GATEWAY_AUTH: 'correct horse' }).warnings).toHaveLength(2);
  });

  test('the default secret is warned of as the second one too', () => {
    expect(accept({ GATEWAY_AUTH: `${SECRET} ${DEFAULT_GATEWAY_AUTH}` }).warnings).toEqual([
      expect.stringMatching(/^GATEWAY_AUTH: the default secret is in use and it is PUBLIC/),
    ]);
  });

  test('metrics that other machines can read without a secret are warned of', () => {
    const open = { GATEWAY_AUTH: SECRET, ADMIN_AUTH: `${SECRET}-2`, METRICS_PUBLIC: 'true' };
    expect(accept({ ...open, HOST: '0.0.0.0' }).warnings).toEqual([
      'METRICS_PUBLIC: any machine that reaches HOST 0.0.0.0 can read /metrics without a secret; let only your monitoring reach it, or set METRICS_PUBLIC to false',
    ]);
    expect(accept({ ...open, HOST: '127.0.0.1' }).warnings).toEqual([]);
    expect(accept(open).config.isMetricsPublic).toBe(true);
    expect(accept({ GATEWAY_AUTH: SECRET }).config.isMetricsPublic).toBe(false);
  });

  test('a variable with a typing error in the name of a setting is warned of', () => {
    const typos: Readonly<Record<string, string>> = {
      GATEWAY_AUTHH: 'GATEWAY_AUTH',
      GATEWAY_ATUH: 'GATEWAY_AUTH',
      gateway_auth: 'GATEWAY_AUTH',
      ADMIN_AUTH_FIEL: 'ADMIN_AUTH_FILE',
      OPEN_TASKS: 'OPEN_TASKS_MAX',
      KEEP_TASKS: 'KEEP_TASKS_HOURS',
      LOGLEVEL: 'LOG_LEVEL',
      PORTT: 'PORT',
      STOR: 'STORE',
      STORES: 'STORE',
      PUSH_SECRETS: 'PUSH_SECRET',
    };
    for (const [typo, name] of Object.entries(typos)) {
      const { warnings } = accept({ GATEWAY_AUTH: SECRET, [typo]: 'x' });
      expect(warnings, typo).toEqual([`${typo}: is not a setting and has no effect; did you mean ${name}?`]);
    }
  });

  test('a variable with the prefix of the client is warned of, unless the client or Kubernetes sets it', () => {
    const warningsOf = (env: Readonly<Record<string, string>>) =>
      accept({ GATEWAY_AUTH: SECRET, ...env }).warnings;
    expect(warningsOf({ TASK_GATEWAY_LOG_LEVEL: 'debug' })).toEqual([
      'TASK_GATEWAY_LOG_LEVEL: is not a setting and has no effect; did you mean LOG_LEVEL?',
    ]);
    expect(warningsOf({ TASK_GATEWAY_PORT: '9000', TASK_GATEWAY_COLOUR: 'red' })).toEqual([
      'TASK_GATEWAY_PORT: is not a setting and has no effect; did you mean PORT?',
      expect.stringMatching(
        /^TASK_GATEWAY_COLOUR: is not a setting and has no effect; \/.*server\/SETTINGS\.md lists them all$/,
      ),
    ]);
    const port = { TASK_GATEWAY_PORT: 'tcp://10.0.0.1:8080', TASK_GATEWAY_PORT_8080_TCP_ADDR: '10.0.0.1' };
    expect(warningsOf({ ...port, TASK_GATEWAY_SERVICE_HOST: '10.0.0.1' })).toEqual([]);
    const ofClients = readPages('sdk').match(/(?<=`)TASK_GATEWAY_[A-Z_]+(?=`)/g) ?? [];
    expect(ofClients.length).toBeGreaterThan(8);
    expect(warningsOf(Object.fromEntries(ofClients.map((name) => [name, 'x'])))).toEqual([]);
  });

  test('a line of a secrets file that no setting reads is warned of', () => {
    const both = '/run/secrets/both';
    const unread = 'has a line ADMIN_AUTH=… that is not read; set ADMIN_AUTH_FILE to the same file';
    expect(accept({ GATEWAY_AUTH_FILE: both }).warnings).toEqual([`GATEWAY_AUTH_FILE: ${unread}`]);
    expect(accept({ GATEWAY_AUTH_FILE: both, ADMIN_AUTH_FILE: both }).warnings).toEqual([]);
    expect(accept({ GATEWAY_AUTH_FILE: both, ADMIN_AUTH: `${SECRET}-2` }).warnings).toEqual([]);
    // It may be the cause of a mistake.
    const mistakes = listMistakes({ GATEWAY_AUTH_FILE: both, STORE: 'redis://127.0.0.1:6379' });
    expect(mistakes).toEqual([
      expect.stringMatching(/^ADMIN_AUTH: all gateways on a shared store need the same one/),
      `GATEWAY_AUTH_FILE: ${unread}`,
    ]);
  });

  test('agents need the secret where other machines reach the gateway, unless a warned operator says otherwise', () => {
    const read = (HOST: string, AGENT_AUTH = '') => {
      const { config, warnings } = accept({ GATEWAY_AUTH: SECRET, HOST, AGENT_AUTH });
      return [config.isAgentAuthRequired, config.areStrangersServed, warnings.length];
    };
    for (const host of ['127.0.0.1', '::1', 'localhost', '127.9.9.9']) {
      expect(read(host), host).toEqual([false, false, 0]);
      expect(read(host, 'optional'), host).toEqual([false, false, 0]);
      expect(read(host, 'required'), host).toEqual([true, false, 0]);
    }
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'gateway.test']) {
      expect(read(host), host).toEqual([true, false, 0]);
      expect(read(host, 'optional'), host).toEqual([false, true, 1]);
      expect(read(host, 'required'), host).toEqual([true, false, 0]);
    }
    expect(accept({ GATEWAY_AUTH: SECRET, HOST: '0.0.0.0', AGENT_AUTH: 'optional' }).warnings).toEqual([
      'AGENT_AUTH: anyone who reaches HOST 0.0.0.0 can unregister agents and report results without a secret; leave AGENT_AUTH out, or set HOST to 127.0.0.1',
    ]);
  });

  test('the usual variables of an environment are not warned of', () => {
    const common = [
      ...['PATH', 'HOME', 'USER', 'SHELL', 'LANG', 'TERM', 'PWD', 'HOSTNAME', 'LOGNAME', 'EDITOR', 'TZ'],
      ...['SHLVL'],
    ];
    const more = [
      ...['NODE_ENV', 'NODE_AUTH_TOKEN', 'REDIS_HOST', 'AGENT_TOKEN', 'KEY_FILE', 'NODE_OPTIONS'],
      ...['NO_COLOR', 'FORCE_COLOR', 'CI', 'DISPLAY', 'MAIL', 'OLDPWD', 'SSH_AUTH_SOCK'],
    ];
    const env = Object.fromEntries([...common, ...more, '_', 'npm_config_cache'].map((name) => [name, 'x']));
    expect(accept({ ...env, GATEWAY_AUTH: SECRET }).warnings).toEqual([]);
  });
});
