/** Host names of endpoints: where they are looked up, what is kept, and what a silent server can hold up. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listFullNames, parseHosts, parseResolverSettings } from '../../server/push/name-files.ts';
import { createNameResolver, type NameDeps } from '../../server/push/names.ts';
import { createClock } from '../../server/system/clock.ts';
import { openDnsServer, type Records } from './dns-server.ts';

type Found = { readonly code: string | null; readonly addresses: readonly string[] };

/** A resolver on a DNS server of the test and files of its own. */
async function openNames(
  records: Records,
  more: Partial<NameDeps> & { hosts?: string; settings?: string } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [hostsFile, resolverFile] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
  writeFileSync(hostsFile, more.hosts ?? '');
  writeFileSync(resolverFile, more.settings ?? '');
  const server = await openDnsServer(records);
  const time = { nowMs: 0 };
  const asked: string[] = [];
  const names = createNameResolver({
    clock: { ...createClock(), monotonicMs: () => time.nowMs },
    hostsFile,
    resolverFile,
    servers: [server.address],
    askSystem: async (hostname) => {
      asked.push(hostname);
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    },
    ...more,
  });
  onTestFinished(() => names.close());
  const resolve = (hostname: string): Promise<Found> =>
    new Promise((done) => {
      names.resolve(hostname, (error, addresses) => {
        const code = error && 'code' in error ? String(error.code) : null;
        done({ code, addresses: addresses.map(({ address }) => address) });
      });
    });
  return { resolve, server, time, asked, hostsFile, names };
}

const found = (...addresses: readonly string[]): Found => ({ code: null, addresses });

describe('a name', () => {
  test('in the hosts file is not looked up anywhere else, and a change of the file counts', async () => {
    const { resolve, server, time, hostsFile } = await openNames(() => null, {
      hosts: '# local\n10.0.0.1 agent.test Agent # mine\n::1 agent.test\n',
    });
    expect(await resolve('agent.test')).toEqual(found('10.0.0.1', '::1'));
    expect(await resolve('AGENT')).toEqual(found('10.0.0.1'));
    writeFileSync(hostsFile, '10.0.0.22 agent.test\n');
    time.nowMs += 10_000;
    expect(await resolve('agent.test')).toEqual(found('10.0.0.22'));
    expect(server.queries).toEqual([]);
  });

  test('is asked of DNS once for all who wait, and its addresses are used for seconds', async () => {
    const { resolve, server, time } = await openNames(() => ['10.0.0.2', '10.0.0.3']);
    const all = await Promise.all(Array.from({ length: 100 }, () => resolve('agent.test')));
    expect(all).toEqual(new Array(100).fill(found('10.0.0.2', '10.0.0.3')));
    // One query for each family of addresses.
    expect(server.queries).toEqual(['agent.test', 'agent.test']);
    time.nowMs += 4_000;
    await resolve('agent.test');
    expect(server.queries).toHaveLength(2);
    time.nowMs += 2_000;
    await resolve('agent.test');
    expect(server.queries).toHaveLength(4);
  });

  test('that is short is looked up in the domains of the system’s settings', async () => {
    const { resolve, server } = await openNames((name) => (name === 'agent.b.test' ? ['10.0.0.4'] : null), {
      settings: 'search a.test b.test\noptions ndots:2\n',
    });
    expect(await resolve('agent')).toEqual(found('10.0.0.4'));
    expect([...new Set(server.queries)]).toEqual(['agent.a.test', 'agent.b.test']);
  });

  test('that DNS does not have is asked of the system, two at a time', async () => {
    let running = 0;
    let most = 0;
    const { resolve } = await openNames(() => null, {
      async askSystem(hostname) {
        running += 1;
        most = Math.max(most, running);
        await new Promise((done) => setImmediate(done));
        running -= 1;
        if (hostname !== 'printer.local') throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
        return [{ address: '10.0.0.5', family: 4 }];
      },
    });
    const others = Array.from({ length: 20 }, (_, n) => resolve(`other-${n}.local`));
    expect(await resolve('printer.local')).toEqual(found('10.0.0.5'));
    expect(await Promise.all(others)).toEqual(new Array(20).fill({ code: 'ENOTFOUND', addresses: [] }));
    expect(most).toBe(2);
  });

  test('that comes later is not asked of the system beside two others either', async () => {
    const asked: { readonly hostname: string; readonly reply: () => void }[] = [];
    const { resolve } = await openNames((name) => (name === 'known.test' ? ['10.0.0.6'] : null), {
      askSystem: (hostname) =>
        new Promise((done) =>
          asked.push({ hostname, reply: () => done([{ address: '10.0.0.5', family: 4 }]) }),
        ),
    });
    const names = ['a.local', 'b.local', 'c.local'];
    const all = names.map((name) => resolve(name));
    await expect.poll(() => asked.length).toBe(2);
    asked[0]?.reply();
    await expect.poll(() => asked.length).toBe(3);
    all.push(resolve('d.local'), resolve('e.local'));
    // What DNS says of this one comes behind what it says of those.
    expect(await resolve('known.test')).toEqual(found('10.0.0.6'));
    expect(asked.length).toBe(3);
    for (let n = 1; n < 5; n += 1) {
      await expect.poll(() => asked.length).toBeGreaterThan(n);
      asked[n]?.reply();
    }
    expect(await Promise.all(all)).toEqual(new Array(5).fill(found('10.0.0.5')));
  });

  test('that no server responds for fails in time, holds up no other, and fails at once for a while', async () => {
    const { resolve, server, asked, time } = await openNames(
      (name) => (name === 'healthy.test' ? ['10.0.0.6'] : undefined),
      { withinMs: 500 },
    );
    const silent = Array.from({ length: 200 }, (_, n) => resolve(`silent-${n % 50}.test`));
    let isAnySettled = false;
    void Promise.race(silent).then(() => {
      isAnySettled = true;
    });
    expect(await resolve('healthy.test')).toEqual(found('10.0.0.6'));
    expect(isAnySettled).toBe(false);
    expect(await Promise.all(silent)).toEqual(new Array(200).fill({ code: 'EAI_AGAIN', addresses: [] }));
    expect(asked).toEqual([]);
    const before = server.queries.length;
    expect((await resolve('silent-0.test')).code).toBe('EAI_AGAIN');
    expect(server.queries).toHaveLength(before);
    time.nowMs += 6_000;
    void resolve('silent-0.test');
    await expect.poll(() => server.queries.length).toBeGreaterThan(before);
  });
});

test('the files of the system are read as the system reads them', () => {
  expect(parseHosts('not-an-address a\n127.0.0.1\tLocalhost x\n\n127.0.0.2 x').get('x')).toEqual([
    '127.0.0.1',
    '127.0.0.2',
  ]);
  const settings = parseResolverSettings(
    '; c\nnameserver 1.2.3.4\nsearch a.test. b\noptions rotate ndots:5 x\n',
  );
  expect(settings).toEqual({ search: ['a.test', 'b'], dots: 5 });
  expect(listFullNames('x.y', settings)).toEqual(['x.y.a.test', 'x.y.b', 'x.y']);
  expect(listFullNames('x.y.', settings)).toEqual(['x.y']);
  expect(listFullNames('x.y', { search: ['a'], dots: 1 })).toEqual(['x.y', 'x.y.a']);
});
