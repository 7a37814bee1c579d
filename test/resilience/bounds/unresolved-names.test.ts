/**
 * Party A is a set of agents whose host names no server responds for. Party B is a healthy agent with a name
 * of `/etc/hosts`, whose tasks are pushed as fast as alone. The process gets a DNS server that is silent by a
 * file of its own in place of `/etc/resolv.conf`, which takes a privilege; where that is not given,
 * `test/push/names.test.ts` remains.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { useFolder } from '../../harness/folder.ts';
import { startGateway } from '../../harness/gateway-process.ts';
import { expectUnaffected } from './beside.ts';
import { measurePushesBeside, register, submitFor } from './push-parties.ts';

const AGENTS = 12;
const TASKS_EACH = 20;
const SILENT_SERVER = '127.53.53.53';

test(`beside ${AGENTS} agents whose names do not resolve, pushes to another are as fast as alone`, {
  timeout: 300_000,
  tags: 'mount',
}, async () => {
  const silent = createSocket('udp4');
  let queries = 0;
  silent.on('message', () => {
    queries += 1;
  });
  silent.bind(53, SILENT_SERVER);
  await once(silent, 'listening');
  const settings = join(useFolder(), 'resolv.conf');
  writeFileSync(settings, `nameserver ${SILENT_SERVER}\n`);
  const script = `mount --bind ${settings} /etc/resolv.conf && exec "$@"`;
  const gateway = await startGateway({}, ['/usr/bin/env', 'unshare', '-m', 'sh', '-c', script, 'sh']);
  onTestFinished(async () => {
    silent.close();
    await gateway.stop();
  });
  const measured = await measurePushesBeside({
    name: 'unresolved-names',
    baseUrl: gateway.baseUrl,
    host: 'localhost',
    async takeAll(caller) {
      for (let n = 0; n < AGENTS; n += 1) {
        await register(caller, `unresolved-${n}`, `http://agent-${n}.unresolved.test/tasks`);
        await submitFor(caller, `unresolved-${n}`, { count: TASKS_EACH, textLength: 100 });
      }
      await expect.poll(() => queries).toBeGreaterThan(0);
      return async () => undefined;
    },
  });
  expectUnaffected(measured);
});
