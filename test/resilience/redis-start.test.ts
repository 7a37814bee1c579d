/**
 * What a gateway requires of its Redis before it starts, and what it warns of; each message says what to do.
 * The store is opened without a gateway where no more than that is asked. More settings are changed under a
 * running gateway in `bounds/redis-settings.test.ts`.
 * @module-tag redis
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import type { Durability } from '../../server/engines/redis/client/durability.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import { createClock } from '../../server/system/clock.ts';
import { get, submit } from '../e2e/plain-calls.ts';
import { findFreePort } from '../harness/free-port.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { REDIS_COMMANDS, type RedisProcess, startRedis, untilReplicates } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { makeCertificate } from '../push/certificate.ts';

const PASSWORD = 'a-password-of-the-redis-canary';

describe.each(REDIS_COMMANDS)('a gateway on %s', (command) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function launch(...settings: readonly string[]): Promise<RedisProcess> {
    const redis = await startRedis(settings, command);
    closing.push(redis.dispose);
    return redis;
  }

  async function start(STORE: string, env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
    const gateway = await startGateway({ STORE, ...env });
    closing.push(gateway.stop);
    return gateway;
  }

  /** Opens the store; resolves with its warnings. */
  async function open(url: string, durability: Durability = 'disk'): Promise<string> {
    const warnings: string[] = [];
    const log = { ...SILENT, warn: (_fields: object, message: string) => void warnings.push(message) };
    const address = parseRedisAddress(url);
    if ('mistake' in address) throw new Error(address.mistake);
    const store = await openRedisStore({ address, durability, clock: createClock(), log });
    await store.close();
    return warnings.join('\n');
  }

  test('is not started when Redis wants a password, or stops writing while it rewrites', async () => {
    const locked = start((await launch('--requirepass', PASSWORD)).url);
    await expect(locked).rejects.toThrow(/The gateway was not started\..*NOAUTH/s);
    const redis = await launch('--no-appendfsync-on-rewrite', 'yes');
    await expect(open(redis.url)).rejects.toThrow(/set no-appendfsync-on-rewrite no/);
  });

  test('is not started on a replica, nor without one when responses must wait for it', async () => {
    const primary = await launch();
    const replica = await launch('--replicaof', '127.0.0.1', String(primary.port));
    await expect(open(replica.url)).rejects.toThrow(/is a replica; the store needs the primary/);
    const alone = await launch();
    await expect(open(alone.url, 'replica')).rejects.toThrow(/has no replica/);
  });

  test('is not started on a store of another format, which stays as it is, and says what to do', async () => {
    const redis = await launch();
    await open(redis.url);
    expect(await redis.send('GET {task-gateway}:format')).toBe('$1\r\n1\r\n');
    await redis.send('SET {task-gateway}:format 2');
    const digest = await redis.send('DEBUG DIGEST');
    await expect(open(redis.url)).rejects.toThrow(
      /Database 0 of 127\.0\.0\.1:\d+ has format version 2, this gateway reads version 1\. Start the gateway that wrote it; .* name another database\./,
    );
    expect(await redis.send('DEBUG DIGEST')).toBe(digest);
    // Previews: the first ones wrote no format, the later ones had another prefix.
    const old = /has a store of a preview from before 1\.0\.0, .* name another database\./;
    await redis.send('DEL {task-gateway}:format');
    await expect(open(redis.url)).rejects.toThrow(old);
    await redis.send('SET {task-gateway}:format 1');
    await redis.send('SET {task-gateway2}:epoch any');
    await expect(open(redis.url)).rejects.toThrow(old);
    await expect(open(`${redis.url}/1`)).resolves.toBe('');
    await redis.send('DEL {task-gateway2}:epoch');
    await expect(open(redis.url)).resolves.toBe('');
  });

  test('takes its password from the address, which may be in a file, and never prints it', async () => {
    const redis = await launch('--requirepass', PASSWORD);
    const STORE_FILE = join(redis.folder, 'store');
    writeFileSync(STORE_FILE, `redis://:${PASSWORD}@127.0.0.1:${redis.port}\n`);
    const gateways = [
      await start(`redis://:${PASSWORD}@127.0.0.1:${redis.port}`, { LOG_LEVEL: 'debug' }),
      await start('', { LOG_LEVEL: 'debug', STORE_FILE }),
    ];
    for (const gateway of gateways) {
      await submit(gateway.baseUrl);
      expect(gateway.output()).not.toContain('canary');
    }
    const wrong = start(`redis://:wrong-password-canary@127.0.0.1:${redis.port}`);
    await expect(wrong).rejects.toThrow(/WRONGPASS/);
    await expect(wrong).rejects.not.toThrow(/canary/);
  });

  test('speaks TLS where the address says so, to a server whose certificate it can verify', async () => {
    const { folder } = await launch();
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const { key, cert } = makeCertificate('localhost', Date.now() - 60_000, Date.now() + 3_600_000);
    writeFileSync(keyFile, key);
    writeFileSync(certFile, cert);
    const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile];
    const port = await findFreePort();
    await launch(...files, '--tls-auth-clients', 'no', '--tls-port', String(port));
    const url = `rediss://localhost:${port}`;
    await expect(start(url)).rejects.toThrow(/certificate/);
    const gateway = await start(url, { NODE_EXTRA_CA_CERTS: certFile });
    await submit(gateway.baseUrl);
  });

  test('warns of what Redis may lose with REDIS_DURABILITY=memory', async () => {
    const everysec = await launch('--appendfsync', 'everysec');
    expect(await open(everysec.url, 'memory')).toMatch(
      /appendfsync everysec\): what was accepted in the last seconds is lost/,
    );
    const none = await launch('--appendonly', 'no');
    expect(await open(none.url, 'memory')).toMatch(/appendonly no\): everything is lost/);
  });

  test('warns when it may not read whether Redis is durable', async () => {
    const redis = await launch(
      '--user',
      'gateway',
      'on',
      `>${PASSWORD}`,
      '~{task-gateway}:*',
      '&{task-gateway}:*',
      '+@all',
      '-config',
    );
    expect(await open(`redis://gateway:${PASSWORD}@127.0.0.1:${redis.port}`)).toMatch(
      /does not let CONFIG GET be called: whether it keeps REDIS_DURABILITY=disk is unknown/,
    );
  });

  test('whose Redis is full returns 503 for what is new, serves reads, and goes on when there is space', async () => {
    const redis = await launch();
    const gateway = await start(redis.url);
    const id = await submit(gateway.baseUrl, { timeout: 600 });
    await redis.send('CONFIG SET maxmemory 1');
    await expect(submit(gateway.baseUrl)).rejects.toThrow(/503.*store_unavailable/);
    expect((await get(gateway.baseUrl, `/api/cli/tasks/${id}`)).status).toBe(200);
    // It still takes what ends a task, so that no load balancer keeps results from it.
    expect((await fetch(`${gateway.baseUrl}/readyz`)).status).toBe(200);
    await redis.send('CONFIG SET maxmemory 0');
    await vi.waitFor(() => submit(gateway.baseUrl), { timeout: 60_000 });
  });

  test('warns of what a failover may lose; its responses wait for a replica only where they are to', async () => {
    const primary = await launch('--repl-diskless-sync-delay', '0');
    const replica = await launch('--replicaof', '127.0.0.1', String(primary.port));
    await untilReplicates(primary, replica);
    expect(await open(primary.url)).toMatch(
      /after a failover, what the new primary had not received is lost/,
    );
    const gateway = await start(primary.url, { REDIS_DURABILITY: 'replica' });
    await submit(gateway.baseUrl);
    await replica.kill();
    await expect(submit(gateway.baseUrl)).rejects.toThrow(/503.*store_unavailable/);
    await replica.restart();
    await untilReplicates(primary, replica);
    await submit(gateway.baseUrl);
  });
});
