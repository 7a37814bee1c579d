/**
 * The container files, as far as they can be checked without running them: all files and settings they name
 * exist.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../server/config/config.ts';
import { settings } from '../../server/config/settings.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

type Service = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly deploy?: { readonly replicas: number };
};
const { services } = parse(read('compose.yaml')) as { readonly services: Readonly<Record<string, Service>> };
/** With a value for each `${NAME:?…}`, which is set at the start. */
const filled = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(env).map(([name, text]) => [
      name,
      text.replace(/^\$\{(\w+):\?.*\}$/, (_, given: string) => `a-long-secret-for-${given}`),
    ]),
  );

describe('the Dockerfile', () => {
  test('copies files that exist, and starts as npm start does', () => {
    const text = read('Dockerfile');
    for (const [, sources = ''] of text.matchAll(/^COPY (.+) \S+$/gm)) {
      for (const source of sources.split(' ')) expect(existsSync(join(ROOT, source)), source).toBe(true);
    }
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(text)?.[1] ?? '[]') as readonly string[];
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(`exec ${command.join(' ')}`).toBe(scripts.start);
  });

  test('sets only what the gateway reads, and needs a secret to start', () => {
    const env = Object.fromEntries(
      (/^ENV (.+)$/m.exec(read('Dockerfile'))?.[1] ?? '').split(' ').map((pair) => pair.split('=')),
    ) as Record<string, string>;
    const { NODE_ENV: _node, ...ours } = env;
    for (const name of Object.keys(ours)) expect(settings, name).toHaveProperty(name);
    expect(readConfig(ours).ok).toBe(false);
    expect(readConfig({ ...ours, GATEWAY_AUTH: 'a-long-secret-of-the-gateway' }).ok).toBe(true);
  });
});

describe('compose.yaml', () => {
  test('starts three gateways with valid settings', () => {
    const env = filled(services.gateway?.environment ?? {});
    for (const name of Object.keys(env)) expect(settings, name).toHaveProperty(name);
    const answer = readConfig({ ...env, HOST: '0.0.0.0' });
    expect(answer).toMatchObject({ ok: true, warnings: [] });
    expect(answer.ok && answer.config.store.kind).toBe('redis');
    expect(services.gateway?.deploy?.replicas).toBe(3);
  });

  test('has a Valkey that writes before it answers and evicts nothing', () => {
    const command = services.valkey?.command?.join(' ') ?? '';
    for (const setting of ['appendonly yes', 'appendfsync always', 'maxmemory-policy noeviction'])
      expect(command).toContain(`--${setting}`);
  });

  test('names only services that exist', () => {
    for (const { depends_on = {} } of Object.values(services))
      for (const name of Object.keys(depends_on)) expect(services).toHaveProperty(name);
  });
});
