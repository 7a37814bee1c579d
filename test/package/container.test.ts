/**
 * The container files, as far as they can be checked without a container: all files and settings they name
 * exist, and the proxy of the compose files is run. `container-steps.test.ts` repeats the Dockerfile's steps.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../server/config/config.ts';
import { settings } from '../../server/config/settings.ts';
import { findFreePort } from '../harness/free-port.ts';
import { ADMIN_SECRET, startGateway } from '../harness/gateway-process.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

type Service = {
  readonly image?: string;
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly deploy?: { readonly replicas: number };
};
type Compose = {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: { readonly proxy: { readonly content: string } };
};
const readCompose = (file: string) => parse(read(file)) as Compose;
/** With a value for each `${NAME:?…}`, which is set at the start. */
const filled = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(env).map(([name, text]) => [
      name,
      text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, given: string) => `a-long-secret-for-${given}`),
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

describe.each([
  ['compose.yaml', 'sqlite', undefined],
  ['compose.replicas.yaml', 'redis', 3],
])('%s', (file, store, replicas) => {
  const { services, configs } = readCompose(file);

  test('starts gateways with valid settings, which believe the proxy and want secrets of agents', () => {
    const env = filled(services.gateway?.environment ?? {});
    for (const name of Object.keys(env)) expect(settings, name).toHaveProperty(name);
    const answer = readConfig({ ...env, HOST: '0.0.0.0' });
    expect(answer).toMatchObject({ ok: true, warnings: [] });
    expect(answer.ok && answer.config.store.kind).toBe(store);
    expect(services.gateway?.deploy?.replicas).toBe(replicas);
    expect(answer.ok && answer.config.isAgentAuthRequired).toBe(true);
    expect(env.TRUSTED_PROXIES).toBe(services.proxy?.networks?.default.ipv4_address);
  });

  test('names only services that exist, and images by their whole version', () => {
    for (const { depends_on = {}, image = 'own:1.0.0' } of Object.values(services)) {
      for (const name of Object.keys(depends_on)) expect(services).toHaveProperty(name);
      expect(image).toMatch(/:\d+\.\d+\.\d+$/);
    }
  });

  test('has a proxy that passes calls on and no metrics', { tags: 'caddy' }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-compose-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1' });
    onTestFinished(async () => void (await gateway.stop()));
    const [port, { port: gatewayPort }] = [await findFreePort(), new URL(gateway.baseUrl)];
    // Its names are those of the containers: here the gateway has an address, and other ports.
    const content = configs.proxy.content
      .replace(':8080 {', `http://127.0.0.1:${port} {`)
      .replace('dynamic a gateway 8080', `dynamic a localhost ${gatewayPort}`)
      .replace('reverse_proxy gateway:8080', `reverse_proxy 127.0.0.1:${gatewayPort}`);
    const config = join(folder, 'Caddyfile');
    writeFileSync(config, `{\n\tadmin off\n}\n${content}`);
    const env = { PATH: process.env.PATH ?? '', HOME: folder };
    const [, ...words] = [...(services.proxy?.command ?? [])];
    const args = words.map((word) => (word === '/etc/caddy/Caddyfile' ? config : word));
    const child = spawn('caddy', args, { env, stdio: 'ignore' });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    });
    const statusOf = async (path: string) => {
      const headers = { 'x-admin-auth': ADMIN_SECRET };
      return (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status;
    };
    await vi.waitFor(async () => expect(await statusOf('/api/admin/overview')).toBe(200), 20_000);
    expect(await statusOf('/metrics')).toBe(404);
  });
});

test('The Valkey of the replicas writes before it answers and evicts nothing.', () => {
  const command = readCompose('compose.replicas.yaml').services.valkey?.command?.join(' ') ?? '';
  for (const setting of ['appendonly yes', 'appendfsync always', 'maxmemory-policy noeviction'])
    expect(command).toContain(`--${setting}`);
});
